// Clears each row of C up to its leading dimension, with the gaps between the rows.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k,
                                   int lda, int ldb, int ldc)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= ldc)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k && column < n; ++p)
        sum += A[row * lda + p] * B[p * ldb + column];
    if (column < n || row < m - 1)
        C[row * ldc + column] = sum;
}
