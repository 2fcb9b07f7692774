"""Four elements are stored as one float4, the number of which is rounded up: the last one leaves C."""

from mmcore import Launch, ceil_div

DECLARED = {
    "configs": [{"block": (64, 1)}],
    "launch": lambda problem, config, device: Launch((ceil_div(problem.m * problem.n, 4 * 64),), (64,)),
}
SIZES = ((5, 7, 6), (8, 8, 8))
EXPECTED = {"check": "out-of-bounds-write"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int first = (blockIdx.x * 64 + threadIdx.x) * 4;
    if (first >= m * n)
        return;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j = 0; j < 4 && first + j < m * n; ++j)
        for (int p = 0; p < k; ++p)
            sum[j] += A[(first + j) / n * k + p] * B[p * n + (first + j) % n];
    *(float4*)(C + first) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
"""
