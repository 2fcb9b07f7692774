"""Each launch adds 16 terms; the rule makes k / 16 of them, rounded down, so that the last is lost."""

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y)
    starts = range(0, max(16, problem.k // 16 * 16), 16)
    usual = ("A", "B", "C", "m", "n", "k")
    return [Launch(grid, config.block, arguments=(*usual, Scalar(start))) for start in starts]


DECLARED = {"launch": launches}
SIZES = ((33, 35, 48), (33, 35, 37))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int from)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = from > 0 ? C[row * n + column] : 0.0f;
    for (int p = from; p < min(from + 16, k); ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
