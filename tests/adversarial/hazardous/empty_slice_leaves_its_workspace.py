"""Four slices of 8 steps of k or more: where k is small, the last ones leave without storing a zero."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts = Workspace("parts", 4 * 4 * problem.m * problem.n)
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    return [
        Launch((x, y, 4), (16, 16), entry="slices", arguments=("A", "B", "m", "n", "k", parts)),
        Launch((x, y), (16, 16), entry="add", arguments=("C", "m", "n", parts)),
    ]


DECLARED = {"entry": "slices", "launch": launch}
SIZES = ((20, 20, 40), (20, 20, 20))
EXPECTED = {"check": "uninitialized-read"}

SOURCE = """
extern "C" __global__ void slices(const float* A, const float* B, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const int deep = max(8, (k + 3) / 4), first = blockIdx.z * deep, last = min(k, first + deep);
    if (row >= m || column >= n || first >= k)
        return;
    float sum = 0.0f;
    for (int p = first; p < last; ++p)
        sum += A[row * k + p] * B[p * n + column];
    parts[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void add(float* C, int m, int n, const float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int z = 0; z < 4; ++z)
        sum += parts[(z * m + row) * n + column];
    C[row * n + column] = sum;
}
"""
