"""Three blocks add to a zeroed C by atomicCAS on the bits of a float, after an atomic read."""

from mmcore import Launch, ceil_div


def launch(problem, config, device):
    grid = (ceil_div(problem.n, 32), problem.m)
    return [
        Launch(grid, (32,), entry="zero", arguments=("C", "n")),
        Launch((*grid, 3), (32,), entry="f", arguments=("A", "B", "C", "m", "n", "k")),
    ]


DECLARED = {"configs": [{"block": (32, 1)}], "entry": "f", "launch": launch}
SIZES = ((4, 40, 30),)

SOURCE = """
__device__ void add(unsigned* to, float part)
{
    unsigned old = atomicAdd(to, 0u), seen;
    while ((seen = atomicCAS(to, old, __float_as_uint(__uint_as_float(old) + part))) != old)
        old = seen;
}

extern "C" __global__ void zero(float* C, int n)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        C[blockIdx.y * n + column] = 0.0f;
}

extern "C" __global__ void f(const float* A, const float* B, unsigned* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    add(&C[row * n + column], sum);
}
"""
