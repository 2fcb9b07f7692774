"""Double sums pass through a float variable before they are stored."""

DECLARED = {"dtype": "float64"}
SIZES = ((33, 35, 7), (64, 64, 64))

SOURCE = """
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
"""
