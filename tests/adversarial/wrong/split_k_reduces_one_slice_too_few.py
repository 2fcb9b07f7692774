"""Slices of 16 terms are summed up by a second launch, which counts k / 16 of them, rounded down."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    slices = ceil_div(problem.k, 16)
    workspace = Workspace("slices", 4 * slices * problem.m * problem.n)
    tiles = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    return [
        Launch((*tiles, slices), config.block, entry="parts", arguments=("A", "B", workspace, "m", "n", "k")),
        Launch(tiles, config.block, entry="reduce", arguments=(workspace, "C", "m", "n", "k")),
    ]


DECLARED = {"entry": "parts", "launch": launches}
SIZES = ((33, 35, 32), (33, 35, 37))

SOURCE = """
extern "C" __global__ void parts(const float* A, const float* B, float* slices, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 16 * blockIdx.z; p < min(16 * (int)blockIdx.z + 16, k); ++p)
        sum += A[row * k + p] * B[p * n + column];
    slices[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void reduce(const float* slices, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int slice = 0; slice < max(1, k / 16); ++slice)
        sum += slices[(slice * m + row) * n + column];
    C[row * n + column] = sum;
}
"""
