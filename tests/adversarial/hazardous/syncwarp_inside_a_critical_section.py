"""The lane that holds the lock waits for its whole warp at __syncwarp, and the warp's other lanes wait for the lock."""

from mmcore import Launch, Workspace


def launch(problem, config, device):
    locks = Workspace("locks", 4 * problem.m * problem.n)
    grid = (problem.n, problem.m)
    return [
        Launch(grid, (1,), entry="zero", arguments=("C", "n", locks)),
        Launch(grid, (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", locks)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((2, 3, 40),)
EXPECTED = {"check": "deadlock"}
GPU = False  # Lanes wait for ever.

SOURCE = """
extern "C" __global__ void zero(float* C, int n, int* locks)
{
    C[blockIdx.y * n + blockIdx.x] = 0.0f;
    locks[blockIdx.y * n + blockIdx.x] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.x; p < k; p += 32)
        sum += A[row * k + p] * B[p * n + column];
    while (atomicCAS(&locks[i], 0, 1) != 0)
        ;
    __threadfence();
    C[i] += sum;
    __syncwarp();
    __threadfence();
    atomicExch(&locks[i], 0);
}
"""
