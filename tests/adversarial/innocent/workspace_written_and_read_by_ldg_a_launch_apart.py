"""One launch transposes B, the next reads it by __ldg: between launches everything is in order."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    turned = Workspace("turned", 4 * problem.k * problem.n)
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return [
        Launch((ceil_div(problem.k * problem.n, 64),), (64,), entry="turn", arguments=("B", "n", "k", turned)),
        Launch(grid, (16, 16), arguments=("A", "C", "m", "n", "k", turned)),
    ]


DECLARED = {"entry": "f", "launch": launch}

SOURCE = """
extern "C" __global__ void turn(const float* B, int n, int k, float* turned)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < k * n)
        turned[i % n * k + i / n] = B[i];
}

extern "C" __global__ void f(const float* A, float* C, int m, int n, int k, const float* turned)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * __ldg(&turned[column * k + p]);
    C[row * n + column] = sum;
}
"""
