"""The function that adds takes the lock itself, and its caller has taken it already."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    locks = Workspace("locks", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="zero", arguments=("C", "n", locks)),
        Launch((*grid, 3), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", locks)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((2, 40, 12),)
EXPECTED = {"check": "deadlock"}
GPU = False  # Threads wait for ever.

SOURCE = """
__device__ void lock(int* mutex)
{
    while (atomicCAS(mutex, 0, 1) != 0)
        ;
    __threadfence();
}

__device__ void unlock(int* mutex)
{
    __threadfence();
    atomicExch(mutex, 0);
}

__device__ void add(float* to, float part, int* mutex)
{
    lock(mutex);
    *to += part;
    unlock(mutex);
}

extern "C" __global__ void zero(float* C, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n) {
        C[blockIdx.y * n + column] = 0.0f;
        locks[blockIdx.y * n + column] = 0;
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
    lock(&locks[i]);
    add(&C[i], sum, &locks[i]);
    unlock(&locks[i]);
}
"""
