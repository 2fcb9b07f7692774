"""The function takes m, k, n, and is declared to get m, n, k; one row with n < k stays inside the matrices."""

DECLARED = {"arguments": ("A", "B", "C", "m", "n", "k")}
SIZES = ((33, 20, 20), (1, 16, 32))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int k, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
