// Parameters of a function take no local memory.
// given: np.arange(32, dtype=i32), i32(31)
// P[31] = sum(range(31))
// run.run.translation.layout.local_bytes = 0
__device__ __noinline__ int at(const int* a, int i) { return a[i]; }
extern "C" __global__ void f(int* out, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += at(out, i);
    out[n] = sum;
}
