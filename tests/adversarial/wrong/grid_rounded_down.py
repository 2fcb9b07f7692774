"""The launch rule divides by the block and rounds down; what is left over has no thread."""

DECLARED = {"grid": lambda problem, config: (max(1, problem.n // config.block.x), max(1, problem.m // config.block.y))}
SIZES = ((32, 48, 20), (33, 48, 20))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
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
