"""Blocks count by atomicAdd and atomicMax in a workspace, unordered; nobody reads it in the launch."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    counts = Workspace("counts", 8)
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return [
        Launch((1,), (2,), entry="zero", arguments=(counts,)),
        Launch(grid, (16, 16), arguments=("A", "B", "C", "m", "n", "k", counts)),
    ]


DECLARED = {"entry": "f", "launch": launch}

SOURCE = """
extern "C" __global__ void zero(int* counts) { counts[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* counts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
    atomicAdd(&counts[0], 1);
    atomicMax(&counts[1], row * n + column);
}
"""
