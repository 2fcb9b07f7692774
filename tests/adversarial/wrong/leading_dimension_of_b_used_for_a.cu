// A is indexed with ldb instead of lda. Sizes with n < k stay inside A.
// sizes: 32x32x32 33x20x40

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int lda, int ldb, int ldc)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * ldb + p] * B[p * ldb + column];
    C[row * ldc + column] = sum;
}
