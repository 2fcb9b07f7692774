"""Whoever finds the element untouched stores the part and returns, with the lock in hand; the others wait for it."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    state = Workspace("state", 8 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="zero", arguments=("n", state)),
        Launch((*grid, 3), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", state)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((2, 40, 12),)
EXPECTED = {"check": "deadlock"}
GPU = False  # Threads wait for ever.

SOURCE = """
extern "C" __global__ void zero(int n, int2* state)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        state[blockIdx.y * n + column] = make_int2(0, 0);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int2* state)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    while (atomicCAS(&state[i].x, 0, 1) != 0)
        ;
    __threadfence();
    if (state[i].y == 0) {
        C[i] = sum;
        state[i].y = 1;
        return;
    }
    C[i] += sum;
    __threadfence();
    atomicExch(&state[i].x, 0);
}
"""
