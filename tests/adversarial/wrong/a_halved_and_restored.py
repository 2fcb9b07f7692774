"""One launch halves A, one computes, one doubles A again: odd subnormal numbers do not come back."""

from mmcore import Config, DeviceProperties, Launch, Problem, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    return [Launch(grid, config.block, entry=entry) for entry in ("halve", "product", "restore")]


DECLARED = {"entry": "product", "launch": launches}
SIZES = ((120, 35, 20), (128, 64, 20))

SOURCE = """
extern "C" __global__ void halve(float* A, int m, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int p = column; row < m && p < k; p += gridDim.x * blockDim.x)
        A[row * k + p] *= 0.5f;
}

extern "C" __global__ void restore(float* A, int m, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int p = column; row < m && p < k; p += gridDim.x * blockDim.x)
        A[row * k + p] *= 2.0f;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = 2.0f * sum;
}
"""
