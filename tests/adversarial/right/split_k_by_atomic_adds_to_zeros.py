"""A first launch sets C to zero; then blocks of eight slices of k add to it with atomicAdd, in any order.

atomicAdd takes subnormal floats in global memory for zeros, and so -ftz=true says that the kernel does.
"""

from mmcore import Config, DeviceProperties, Launch, Problem, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    return [
        Launch(grid=(x, y), block=config.block, entry="zero"),
        Launch(grid=(x, y, 8), block=config.block, entry="add"),
    ]


DECLARED = {"launch": launches, "options": ("-ftz=true",)}

SOURCE = """
extern "C" __global__ void zero(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        C[row * n + column] = 0.0f;
}

extern "C" __global__ void add(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 8)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
"""
