// Half a warp exchanges values three times while the other half waits for all; only then does it see them.
// given: zeros(64)
// launch: block=(64,)
// P[t] = t // 32 * 32 + ((t + 3) % 16 if t % 32 >= 16 else t % 32 + 16)
extern "C" __global__ void f(int* out) {
    __shared__ volatile int s[64];
    const int t = threadIdx.x, lane = t % 32;
    s[t] = t;
    if (lane < 16)
        for (int i = 0; i < 3; ++i) {
            const int next = s[t - lane + (lane + 1) % 16];
            __syncwarp(0xffff);
            s[t] = next;
            __syncwarp(0xffff);
        }
    __syncwarp();
    out[t] = s[t ^ 16];
}
