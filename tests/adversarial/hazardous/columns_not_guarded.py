"""Rows are compared with m, columns with nothing: the last row reads and writes past the ends of B and C."""

SIZES = ((32, 35, 37), (32, 64, 64))
EXPECTED = {"check": "out-of-bounds-read"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
