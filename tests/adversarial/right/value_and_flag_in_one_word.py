"""A partial sum and its flag travel in one volatile 64-bit word, so that no fence is needed between the two."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("words", 8 * problem.m * problem.n))
    return [
        Launch(grid=grid, block=config.block, entry="clear", arguments=arguments),
        Launch(grid=(*grid, 2), block=config.block, entry="f", arguments=arguments),
    ]


DECLARED = {"launch": launches}

SOURCE = """
extern "C" __global__ void clear(
    const float*, const float*, float*, int m, int n, int k, volatile unsigned long long* words)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        words[row * n + column] = 0;
}

extern "C" __global__ void f(
    const float* A, const float* B, float* C, int m, int n, int k, volatile unsigned long long* words)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = (k + 1) / 2;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z * half; p < min(k, (int)(blockIdx.z + 1) * half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        words[row * n + column] = 1ull << 32 | __float_as_uint(sum);
        return;
    }
    unsigned long long word;
    do
        word = words[row * n + column];
    while (word >> 32 == 0);
    C[row * n + column] = __uint_as_float((unsigned)word) + sum;
}
"""
