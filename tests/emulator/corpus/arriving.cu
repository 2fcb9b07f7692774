// A thread that arrives does not wait.
// launch: block=(64,)
// P[t] = 5 * (31 - t) + 100
extern "C" __global__ void f(int* out) {
    __shared__ int s[32];
    const int t = threadIdx.x % 32;
    for (int i = 0; i < 5; ++i)
        if (threadIdx.x < 32) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            s[t] = 10 * i + t;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            out[t] += s[31 - t];
        }
}
