"""Dynamic shared memory, a workspace, over-read and a number that the kernel never uses; A is passed twice."""

from mmcore import Launch, Scalar, Workspace, ceil_div

DECLARED = {
    "launch": lambda problem, config, device: Launch(
        grid=(ceil_div(problem.n, 16), ceil_div(problem.m, 16)),
        block=config.block,
        shared_bytes=10_001,
        over_read={"A": 1000, "B": 1},
        arguments=("m", "n", "k", "A", "B", "C", Workspace("unused", 12345), Scalar(-0.0, "float64"), "A"),
    )
}

SOURCE = """
extern "C" __global__ void f(
    int m, int n, int k, const float* A, const float* B, float* C, char* unused, double zero, const float* again)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += (p & 1 ? A : again)[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
