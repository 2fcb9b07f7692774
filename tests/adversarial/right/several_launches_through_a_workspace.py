"""A first launch packs B into panels; the second reads them by __ldg, for it may take them for constant."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    panels = ceil_div(problem.n, 8)
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("packed", 4 * panels * 8 * problem.k))
    return [
        Launch(grid=(panels,), block=(8, 16), entry="pack", arguments=arguments),
        Launch(grid=(panels, ceil_div(problem.m, 32)), block=(8, 32), entry="f", arguments=arguments),
    ]


DECLARED = {"configs": [{"block": (8, 32)}], "launch": launches}

SOURCE = """
extern "C" __global__ void pack(const float*, const float* B, float*, int m, int n, int k, float* packed)
{
    const int column = blockIdx.x * 8 + threadIdx.x;
    for (int p = threadIdx.y; p < k; p += 16)
        packed[(blockIdx.x * k + p) * 8 + threadIdx.x] = column < n ? B[p * n + column] : 0.0f;
}

extern "C" __global__ void f(
    const float* A, const float*, float* C, int m, int n, int k, const float* __restrict__ packed)
{
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * __ldg(packed + (blockIdx.x * k + p) * 8 + threadIdx.x);
    C[row * n + column] = sum;
}
"""
