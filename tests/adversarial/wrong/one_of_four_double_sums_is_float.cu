// The last of four partial sums of doubles is declared float.
// sizes: 33x35x7 64x64x64
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum0 = 0, sum1 = 0, sum2 = 0;
    float sum3 = 0;
    int p = 0;
    for (; p + 3 < k; p += 4) {
        sum0 += A[row * k + p] * B[p * n + column];
        sum1 += A[row * k + p + 1] * B[(p + 1) * n + column];
        sum2 += A[row * k + p + 2] * B[(p + 2) * n + column];
        sum3 += A[row * k + p + 3] * B[(p + 3) * n + column];
    }
    for (; p < k; ++p)
        sum0 += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum0 + sum1 + sum2 + sum3;
}
