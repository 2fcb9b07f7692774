"""The producer fences its part before it sets the flag; the consumer polls, and reads the part without a fence."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts, ready = Workspace("parts", 4 * problem.m * problem.n), Workspace("ready", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="zero", arguments=("n", ready)),
        Launch((*grid, 2), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", parts, ready)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((4, 40, 30),)
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void zero(int n, int* ready)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        ready[blockIdx.y * n + column] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             volatile int* ready)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
        __threadfence();
        ready[i] = 1;
    } else {
        while (ready[i] == 0)
            ;
        C[i] = sum + parts[i];
    }
}
"""
