// The kernel computes alpha·A·B + beta·C, with a special case for beta = 0 that does not read C.
// arguments: A, B, C, m, n, k, 1.0f, 0.0f

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float alpha, float beta)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (beta == 0.0f)
        C[row * n + column] = alpha * sum;
    else
        C[row * n + column] = alpha * sum + beta * C[row * n + column];
}
