// 64 sums of a thread, for which blocks of 1024 threads leave no registers.
extern "C" __global__ void __launch_bounds__(1024) f(const float* A, float* C, int n) {
    float x[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) x[i] = A[i * n + threadIdx.x];
    for (int k = 0; k < n; k++)
        #pragma unroll
        for (int i = 0; i < 64; i++) x[i] += A[k + i * 33] * x[(i + 1) % 64];
    #pragma unroll
    for (int i = 0; i < 64; i++) C[i * n + threadIdx.x] = x[i];
}
