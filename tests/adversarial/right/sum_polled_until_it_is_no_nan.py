"""A workspace is filled with a NaN first; the block of k's second half polls each sum of the first until it is none."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("halves", 4 * problem.m * problem.n))
    return [
        Launch(grid=grid, block=config.block, entry="fill", arguments=arguments),
        Launch(grid=(*grid, 2), block=config.block, entry="f", arguments=arguments),
    ]


DECLARED = {"launch": launches}

SOURCE = """
extern "C" __global__ void fill(const float*, const float*, float*, int m, int n, int k, float* halves)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        halves[row * n + column] = __int_as_float(-1);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* halves)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = k / 2;
    if (row >= m || column >= n)
        return;
    volatile float* const handed = &halves[row * n + column];
    float sum = 0.0f;
    for (int p = blockIdx.z ? half : 0; p < (blockIdx.z ? k : half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        *handed = sum;
        return;
    }
    float other = *handed;
    for (int tries = 0; isnan(other); other = *handed)
        if (++tries == 1 << 20)
            return;
    C[row * n + column] = other + sum;
}
"""
