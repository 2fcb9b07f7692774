"""The thread of the last row keeps its sum in A's last element, once that is no longer needed."""

from mmcore import ceil_div

DECLARED = {"configs": [{"block": (64,)}], "grid": lambda problem, config: (ceil_div(problem.m, config.block.x),)}
SIZES = ((33, 20, 21), (64, 24, 20))

SOURCE = """
extern "C" __global__ void f(float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float sum = 0.0f;
    for (int column = 0; column < n; ++column) {
        sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
    if (row == m - 1)
        A[row * k + k - 1] = sum;
}
"""
