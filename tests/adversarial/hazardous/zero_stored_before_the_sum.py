"""C's element is set to zero, the sum is kept in a register, and stored over the zero that nobody has read."""

EXPECTED = {"check": "warning: overwritten-output"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    C[row * n + column] = 0.0f;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
