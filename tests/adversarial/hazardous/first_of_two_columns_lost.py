"""A thread with two columns returns where the second lies outside, before it has stored the first."""

DECLARED = {"grid": lambda problem, config: (-(-problem.n // 32), -(-problem.m // 16))}
EXPECTED = {"check": "unwritten-output"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = 2 * (blockIdx.x * 16 + threadIdx.x);
    if (row >= m || column + 1 >= n)
        return;
    float x = 0.0f, y = 0.0f;
    for (int p = 0; p < k; ++p) {
        x += A[row * k + p] * B[p * n + column];
        y += A[row * k + p] * B[p * n + column + 1];
    }
    C[row * n + column] = x;
    C[row * n + column + 1] = y;
}
"""
