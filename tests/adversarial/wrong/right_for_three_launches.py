"""The first three launches are right, and later ones copy the first row of C to all others."""

from mmcore import Config, DeviceProperties, Launch, Problem, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    return [Launch(grid, config.block, entry=entry) for entry in ("count", "product")]


DECLARED = {"entry": "product", "launch": launches}

LIMIT = "the emulator verifies three launches"

SOURCE = """
__device__ int launches;

extern "C" __global__ void count(float* C)
{
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0)
        ++launches;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[(launches > 3 ? 0 : row) * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
