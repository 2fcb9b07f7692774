// A thread's own array is indexed at run time.
// given: zeros(70, u32), ints(*ORDER)
// launch: grid=(2,), block=(35,)
// P[t] = folded(t)
extern "C" __global__ void f(int* out, const int* order) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int mine[16];
    for (int j = 0; j < 16; ++j) mine[order[j] % 16] = i * j;
    int x = 0;
    for (int j = 0; j < 16; ++j) x = 31 * x + mine[order[(j + i) % 16]];
    out[i] = x;
}
