"""The row is the thread's number times 1.0f/n, rounded down: one too few at n = 41, where 41*(1/41) < 1."""

from mmcore import ceil_div

DECLARED = {
    "configs": [{"block": (128,)}],
    "grid": lambda problem, config: (ceil_div(problem.m * problem.n, config.block.x),),
}
SIZES = ((40, 40, 20), (33, 41, 20))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= m * n)
        return;
    const int row = (int)(id * (1.0f / n)), column = id % n;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
