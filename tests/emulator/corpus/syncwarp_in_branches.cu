// Both halves of a warp store, wait for each other at separate barriers, then read what the other stored.
// given: zeros(64)
// launch: block=(64,)
// P[t] = 216 + t if t % 32 < 16 else 84 + t
extern "C" __global__ void f(int* out) {
    __shared__ volatile int s[64];
    const int t = threadIdx.x, lane = t % 32;
    int x;
    if (lane < 16) { s[t] = 100 + t; __syncwarp(); x = s[t + 16]; }
    else { s[t] = 200 + t; __syncwarp(); x = s[t - 16]; }
    out[t] = x;
}
