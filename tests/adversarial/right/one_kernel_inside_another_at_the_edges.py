"""Whole tiles are computed by a launch without any test; two more, of other shapes, take the right and lower edges."""

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    m, n = problem.m // 16 * 16, problem.n // 16 * 16
    found = [Launch(grid=(n // 16, m // 16), block=(16, 16), entry="inside")] if m and n else []
    for top, left, rows, columns in ((0, n, m, problem.n - n), (m, 0, problem.m - m, problem.n)):
        if rows and columns:
            arguments = ("A", "B", "C", "n", "k", *map(Scalar, (top, left, columns)))
            found.append(Launch(grid=(ceil_div(columns, 64), rows), block=(64,), entry="edge", arguments=arguments))
    return found


DECLARED = {"launch": launches}
SIZES = ((33, 35, 37), (64, 64, 64), (32, 9, 20), (5, 6, 7))

SOURCE = """
extern "C" __global__ void inside(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}

extern "C" __global__ void edge(
    const float* A, const float* B, float* C, int n, int k, int top, int left, int columns)
{
    const int row = top + blockIdx.y, column = left + blockIdx.x * 64 + threadIdx.x;
    if (column >= left + columns)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
