// As in BLAS: leading dimensions, alpha = 1 and beta = 0. C is not read where beta is 0, as it may hold NaN.
// arguments: m, n, k, 1.0f, A, lda, B, ldb, 0.0f, C, ldc

extern "C" __global__ void f(
    int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += a[row * lda + p] * b[p * ldb + column];
    float* const element = c + row * ldc + column;
    *element = beta == 0.0f ? alpha * sum : alpha * sum + beta * *element;
}
