"""Three slices in the workspace, added up four at a time: the fourth is read past the end and not added."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    parts = Workspace("parts", 4 * 3 * problem.m * problem.n)
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    return [
        Launch((x, y, 3), (16, 16), entry="slices", arguments=("A", "B", "m", "n", "k", parts)),
        Launch((x, y), (16, 16), entry="add", arguments=("C", "m", "n", parts)),
    ]


DECLARED = {"entry": "slices", "launch": launch}
EXPECTED = {"check": "out-of-bounds-read"}

SOURCE = """
extern "C" __global__ void slices(const float* A, const float* B, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    parts[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void add(float* C, int m, int n, const volatile float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float part[4];
    for (int z = 0; z < 4; ++z)
        part[z] = parts[(z * m + row) * n + column];
    C[row * n + column] = part[0] + part[1] + part[2];
}
"""
