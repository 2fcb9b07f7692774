"""A 64-bit counter in a workspace lies behind one 32-bit number, at a multiple of 4 that is none of 8."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    control = Workspace("control", 16)
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return [
        Launch((1,), (4,), entry="zero", arguments=(control,)),
        Launch(grid, (16, 16), entry="f", arguments=("A", "B", "C", "m", "n", "k", control)),
    ]


DECLARED = {"entry": "f", "launch": launch}
EXPECTED = {"check": "misaligned"}

SOURCE = """
extern "C" __global__ void zero(int* control) { control[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* control)
{
    unsigned long long* done = (unsigned long long*)(control + 1);
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
    atomicAdd(done, 1ull);
}
"""
