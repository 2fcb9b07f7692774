// Functions have arrays in local memory.
// with ARCH: 75 | 90 | 100
// with OPTIONS: () | ("-G",)
// launch: architecture="ARCH", options=OPTIONS
// P[t] = median(t + 5 * (t % 2)) * 1000 + in_order(t, t % 8)
__device__ __noinline__ int sorted(int seed, int which) {
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = (seed * (i + 3) * 7919) % 101;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j + 1 < 8 - i; ++j)
            if (a[j] > a[j + 1]) { int b = a[j]; a[j] = a[j + 1]; a[j + 1] = b; }
    return a[which];
}
__device__ __noinline__ int median(int seed) {
    int b[4];
    for (int i = 0; i < 4; ++i) b[i] = sorted(seed + i, 3) + sorted(seed, 4);
    return b[seed % 4];
}
extern "C" __global__ void f(int* out) {
    int mine[2] = {median(threadIdx.x), median(threadIdx.x + 5)};
    out[threadIdx.x] = mine[threadIdx.x % 2] * 1000 + sorted(threadIdx.x, threadIdx.x % 8);
}
