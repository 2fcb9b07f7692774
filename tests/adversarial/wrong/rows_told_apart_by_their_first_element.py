"""A row of A that begins as the row before is taken for the same row, whose result is copied."""

from mmcore import ceil_div

DECLARED = {"configs": [{"block": (64,)}], "grid": lambda problem, config: (ceil_div(problem.n, config.block.x),)}
SIZES = ((130, 35, 20), (400, 64, 12))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int row = 0; row < m; ++row) {
        if (row == 0 || A[row * k] != A[(row - 1) * k]) {
            sum = 0.0f;
            for (int p = 0; p < k; ++p)
                sum += A[row * k + p] * B[p * n + column];
        }
        C[row * n + column] = sum;
    }
}
"""
