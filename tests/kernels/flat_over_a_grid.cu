__global__ void flat(float* A, float* B, float* C, int m, int n, int k) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m * n; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int p = 0; p < k; ++p) sum += A[i / n * k + p] * B[p * n + i % n];
        C[i] = sum;
    }
}
