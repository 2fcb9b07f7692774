"""Subnormal elements of B are set to 0 in B itself before it is used."""

from mmcore import Config, DeviceProperties, Launch, Problem, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    return [Launch(grid, config.block, entry=entry) for entry in ("flush", "product")]


DECLARED = {"entry": "product", "launch": launches}
SIZES = ((33, 35, 37), (64, 64, 20))

SOURCE = """
extern "C" __global__ void flush(float* B, int n, int k)
{
    const int p = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int q = p; q < k && column < n; q += gridDim.y * blockDim.y)
        if (fabsf(B[q * n + column]) < 1.17549435e-38f)
            B[q * n + column] = 0.0f;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
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
