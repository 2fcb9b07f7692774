"""Two launches add half a sum each to a workspace that nobody clears; its NaN of the beginning counts as 0."""

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    usual = ("A", "B", "C", "m", "n", "k", Workspace("sums", 4 * problem.m * problem.n))
    return [Launch(grid, config.block, arguments=(*usual, Scalar(half))) for half in (0, 1)]


DECLARED = {"launch": launches}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int half)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int begin = half * (k / 2), end = half ? k : k / 2;
    const float old = sums[row * n + column];
    float sum = old == old ? old : 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sums[row * n + column] = sum;
}
"""
