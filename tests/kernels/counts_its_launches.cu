__device__ int launched;
extern "C" __global__ void own(float* A, float* B, float* C, int n, int ldc) {
    const int row = threadIdx.x / 8, column = threadIdx.x % 8, number = launched;
    __syncthreads();
    if (threadIdx.x == 0)
        ++launched;
    float sum = 0.0f;
    for (int p = 0; p < n; ++p)
        sum += A[row * n + p] * B[p * n + column];
    C[row * ldc + column] = SUM;
    if (threadIdx.x == 0) { MORE; }
}
