"""The rows of A are taken to be n elements long: right for square products, and past A's end where n is above k."""

SIZES = ((32, 32, 32), (40, 50, 20))
EXPECTED = {"check": "out-of-bounds-read"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * n + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
