"""Four neighbouring elements are stored as a float4 where all four are there, and one by one at C's end."""

from mmcore import Launch, ceil_div

DECLARED = {
    "configs": [{"block": (64, 1)}],
    "launch": lambda problem, config, device: Launch((ceil_div(problem.m * problem.n, 4 * 64),), (64,)),
}
SIZES = ((5, 7, 6), (8, 8, 8))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int first = (blockIdx.x * 64 + threadIdx.x) * 4, there = min(4, m * n - first);
    if (there <= 0)
        return;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j = 0; j < there; ++j)
        for (int p = 0; p < k; ++p)
            sum[j] += A[(first + j) / n * k + p] * B[p * n + (first + j) % n];
    if (there == 4)
        *(float4*)(C + first) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    else
        for (int j = 0; j < there; ++j)
            C[first + j] = sum[j];
}
"""
