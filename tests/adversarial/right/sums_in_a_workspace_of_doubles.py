"""Slices of k are added as doubles to a workspace by atomicAdd, and a last launch rounds the sums to C's float16."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("sums", 8 * problem.m * problem.n))
    return [
        Launch(grid=(x, y, depth), block=config.block, entry=entry, arguments=arguments)
        for entry, depth in (("zero", 1), ("add", 5), ("finish", 1))
    ]


DECLARED = {"launch": launches, "dtype": "float16", "output": "float16", "configs": [{"block": (16, 16)}]}

SOURCE = """
#include <cuda_fp16.h>
#define KERNEL(name) \\
    extern "C" __global__ void name(const __half* A, const __half* B, __half* C, int m, int n, int k, double* sums)
#define PLACE \\
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column; \\
    if (row >= m || column >= n) return

KERNEL(zero)
{
    PLACE;
    sums[i] = 0.0;
}

KERNEL(add)
{
    PLACE;
    double sum = 0.0;
    for (int p = blockIdx.z; p < k; p += 5)
        sum += (double)__half2float(A[row * k + p]) * (double)__half2float(B[p * n + column]);
    atomicAdd(&sums[i], sum);
}

KERNEL(finish)
{
    PLACE;
    C[i] = __double2half(sums[i]);
}
"""
