"""B is packed in panels of four rows; the rows that the last panel lacks are unset, and multiplied by 0."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    packed = Workspace("packed", 16 * ceil_div(problem.k, 4) * problem.n)
    grid = (ceil_div(problem.n, 16), ceil_div(problem.m, 16))
    return [
        Launch((ceil_div(problem.n, 32), problem.k), (32,), entry="pack", arguments=("B", "n", packed)),
        Launch(grid, (16, 16), arguments=("A", "C", "m", "n", "k", packed)),
    ]


DECLARED = {"entry": "f", "launch": launch}
SIZES = ((20, 20, 24), (20, 20, 23))
EXPECTED = {"check": "uninitialized-read"}

SOURCE = """
extern "C" __global__ void pack(const float* B, int n, float* packed)
{
    const int p = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        packed[(p / 4 * n + column) * 4 + p % 4] = B[p * n + column];
}

extern "C" __global__ void f(const float* A, float* C, int m, int n, int k, const float4* packed)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    auto a = [&](int p) { return p < k ? A[row * k + p] : 0.0f; };
    float sum = 0.0f;
    for (int p = 0; p < k; p += 4) {
        const float4 b = packed[p / 4 * n + column];
        sum += a(p) * b.x + a(p + 1) * b.y + a(p + 2) * b.z + a(p + 3) * b.w;
    }
    C[row * n + column] = sum;
}
"""
