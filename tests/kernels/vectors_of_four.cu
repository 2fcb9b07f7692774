__global__ void padded(const float* A, const float* B, float* C, int m, int n, int k, int lda, int ldb, int ldc) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    int i = 0;
    for (; i + 4 <= k; i += 4) {
        float4 a = *(const float4*)(A + row * lda + i);
        sum += a.x * B[i * ldb + col] + a.y * B[(i + 1) * ldb + col];
        sum += a.z * B[(i + 2) * ldb + col] + a.w * B[(i + 3) * ldb + col];
    }
    for (; i < k; ++i) sum += A[row * lda + i] * B[i * ldb + col];
    C[row * ldc + col] = sum;
}
