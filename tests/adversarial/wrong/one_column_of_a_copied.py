"""The shortcut for k = 1 copies A's element and forgets to multiply it by B's."""

SIZES = ((33, 35, 37), (40, 41, 1))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    if (k == 1) {
        C[row * n + column] = A[row];
        return;
    }
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
