"""Each thread computes two neighbouring columns and loads B as float2, which odd rows of odd length do not allow."""

from mmcore import Launch, ceil_div

DECLARED = {
    "configs": [{"block": (32, 1)}],
    "launch": lambda problem, config, device: Launch((ceil_div(problem.n // 2 + 1, 32), problem.m), (32,)),
}
SIZES = ((5, 40, 9), (5, 41, 9))
EXPECTED = {"check": "misaligned"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = 2 * (blockIdx.x * 32 + threadIdx.x);
    if (column >= n)
        return;
    if (column == n - 1) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
        return;
    }
    float2 sum = {0.0f, 0.0f};
    for (int p = 0; p < k; ++p) {
        const float2 b = *(const float2*)(B + p * n + column);
        sum.x += A[row * k + p] * b.x;
        sum.y += A[row * k + p] * b.y;
    }
    C[row * n + column] = sum.x;
    C[row * n + column + 1] = sum.y;
}
"""
