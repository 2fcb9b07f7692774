"""A workspace is passed twice: parts are written by one pointer, read by a const __restrict__ one."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts = Workspace("parts", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return Launch(grid, (16, 16), arguments=("A", "B", "C", "m", "n", "k", parts, parts))


DECLARED = {"launch": launch}
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* to,
                             const float* __restrict__ from)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = 0; p < k / 2 && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (inside)
        to[i] = sum;
    sum = 0.0f;
    for (int p = k / 2; p < k && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    __syncthreads();
    if (inside)
        C[i] = from[i] + sum;
}
"""
