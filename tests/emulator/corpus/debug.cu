// A kernel compiled for debugging does the same.
// launch: options=("-G",)
// P[t] = sum(i * i for i in range(t))
extern "C" __global__ void f(int* out) {
    int sum = 0;
    for (int i = 0; i < (int)threadIdx.x; ++i) sum += i * i;
    out[threadIdx.x] = sum;
}
