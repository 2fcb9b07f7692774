"""A is copied as float4, the number of which is rounded up: the last one reaches past A's end."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    vectors = ceil_div(problem.m * problem.k, 4)
    copy = Workspace("copy", 16 * vectors)
    return [
        Launch((ceil_div(vectors, 64),), (64,), entry="fetch", arguments=("A", "m", "k", copy)),
        Launch((ceil_div(problem.n, 16), ceil_div(problem.m, 16)), (16, 16), arguments=(copy, "B", "C", "m", "n", "k")),
    ]


DECLARED = {"entry": "f", "launch": launch}
SIZES = ((5, 6, 7),)
EXPECTED = {"check": "out-of-bounds-read"}

SOURCE = """
extern "C" __global__ void fetch(const float4* A, int m, int k, float4* copy)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < (m * k + 3) / 4)
        copy[i] = A[i];
}

extern "C" __global__ void f(const float* copy, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += copy[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
