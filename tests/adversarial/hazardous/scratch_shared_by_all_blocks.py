"""A scratch area as large as one block needs, which all blocks use at once: barriers hold for one block each."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return Launch(grid, (16, 16), arguments=("A", "B", "C", "m", "n", "k", Workspace("scratch", 4 * 256)))


DECLARED = {"launch": launch}
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* scratch)
{
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        scratch[ty * 16 + tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 16 && p + q < k && column < n; ++q)
            sum += scratch[ty * 16 + q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""
