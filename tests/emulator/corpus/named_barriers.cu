// Halves of a block have separate barriers.
// given: zeros(128)
// launch: block=(128,)
// P[t] = (t ^ 63) + 2 * (t // 64)
extern "C" __global__ void f(int* out) {
    __shared__ int s[128];
    const int t = threadIdx.x, half = t / 64;
    for (int i = 0; i < 1 + 2 * half; ++i) {
        s[t] = t + i;
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
        out[t] = s[t ^ 63];
        asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
    }
}
