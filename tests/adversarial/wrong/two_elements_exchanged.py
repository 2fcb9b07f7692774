"""Two elements of C, of the fourth and fifth row, are exchanged; all others are right."""

SIZES = ((33, 35, 37), (64, 64, 20))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const bool first = row == 3 && column == 2, second = row == 4 && column == 1;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[first ? 4 * n + 1 : second ? 3 * n + 2 : row * n + column] = sum;
}
"""
