"""The lock is taken atomically and given back by an assignment: a race with those who try to take it."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    locks = Workspace("locks", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="zero", arguments=("C", "n", locks)),
        Launch((*grid, 3), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", locks)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((4, 40, 30),)
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void zero(float* C, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * n + column;
    if (column < n) {
        C[i] = 0.0f;
        locks[i] = 0;
    }
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    while (atomicCAS(&locks[i], 0, 1) != 0)
        ;
    __threadfence();
    C[i] += sum;
    __threadfence();
    locks[i] = 0;
}
"""
