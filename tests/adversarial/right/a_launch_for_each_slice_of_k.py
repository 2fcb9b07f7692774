"""Four launches each add a slice of k to C, which the first sets; a scalar argument says which slice it is."""

from itertools import pairwise

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    slices = [problem.k * i // 4 for i in range(5)]
    return [
        Launch(
            grid=grid,
            block=config.block,
            arguments=("A", "B", "C", "m", "n", "k", Scalar(begin, "uint16"), Scalar(end, "int64")),
        )
        for begin, end in pairwise(slices)
    ]


DECLARED = {"launch": launches}

SOURCE = """
extern "C" __global__ void f(
    const float* A, const float* B, float* C, int m, int n, int k, unsigned short begin, long long end)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = begin ? C[row * n + column] : 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
