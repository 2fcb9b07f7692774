"""Each thread negates its row of A, subtracts the products and leaves A negated; C is right."""

from mmcore import ceil_div

DECLARED = {"configs": [{"block": (64,)}], "grid": lambda problem, config: (ceil_div(problem.m, config.block.x),)}
SIZES = ((33, 20, 21), (64, 24, 20))

SOURCE = """
extern "C" __global__ void f(float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    for (int p = 0; p < k; ++p)
        A[row * k + p] = -A[row * k + p];
    for (int column = 0; column < n; ++column) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum -= A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
"""
