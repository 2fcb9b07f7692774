// The kernel computes alpha·A·B + beta·C without a special case for beta = 0: the result is NaN where C holds NaN.
// expect: uninitialized-read
// arguments: A, B, C, m, n, k, 1.0f, 0.0f

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float alpha, float beta)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = alpha * sum + beta * C[row * n + column];
}
