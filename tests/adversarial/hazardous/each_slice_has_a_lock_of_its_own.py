"""The lock is chosen by element and slice, so that two slices hold different locks for the same element."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    locks = Workspace("locks", 4 * 3 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m, 3)
    return [
        Launch(grid, (32,), entry="zero", arguments=("C", "m", "n", locks)),
        Launch(grid, (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", locks)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((4, 40, 30),)
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void zero(float* C, int m, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * n + column;
    if (column < n)
        locks[blockIdx.z * m * n + i] = 0;
    if (column < n && blockIdx.z == 0)
        C[i] = 0.0f;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    int* lock = &locks[blockIdx.z * m * n + i];
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    C[i] += sum;
    __threadfence();
    atomicExch(lock, 0);
}
"""
