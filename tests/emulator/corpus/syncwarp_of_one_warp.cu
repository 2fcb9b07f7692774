// A warp synchronizes at warp barriers while another waits for the block.
// given: zeros(64)
// launch: block=(64,)
// P = [*range(32), *(32 + (t + 3) % 32 for t in T)][::-1]
extern "C" __global__ void f(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    if (t >= 32)
        for (int i = 0; i < 3; ++i) {
            const int next = s[32 + (t + 1) % 32];
            __syncwarp();
            s[t] = next;
            __syncwarp();
        }
    __syncthreads();
    out[t] = s[63 - t];
}
