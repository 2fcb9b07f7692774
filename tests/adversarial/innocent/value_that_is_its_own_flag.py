"""A volatile part is awaited until it is no longer the NaN of an earlier launch; nothing else is read."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts = Workspace("parts", 4 * problem.m * problem.n)
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="mark", arguments=("n", parts)),
        Launch((*grid, 2), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k", parts)),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((4, 40, 30),)

SOURCE = """
#define NOTHING 0x7fffabcd

extern "C" __global__ void mark(int n, int* parts)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        parts[blockIdx.y * n + column] = NOTHING;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, volatile int* parts)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = __float_as_int(sum);
    } else {
        int part;
        do
            part = parts[i];
        while (part == NOTHING);
        C[i] = sum + __int_as_float(part);
    }
}
"""
