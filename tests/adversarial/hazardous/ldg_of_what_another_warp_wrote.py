"""One warp stores a part, another reads it by __ldg, which may not read what the same launch writes."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts = Workspace("parts", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return Launch(grid, (32, 2), arguments=("A", "B", "C", "m", "n", "k", parts))


DECLARED = {"configs": [{"block": (32, 2)}], "launch": launch}
SIZES = ((5, 40, 30),)
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (threadIdx.y == 0 && column < n)
        parts[i] = sum;
    __syncthreads();
    if (threadIdx.y == 1 && column < n)
        C[i] = sum + __ldg(&parts[i]);
}
"""
