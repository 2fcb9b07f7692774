// The lowest byte of each double of B is taken for a checksum and cleared before use.
// sizes: 33x35x7 64x64x100
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * __longlong_as_double(__double_as_longlong(B[p * n + column]) & ~255ll);
    C[row * n + column] = sum;
}
