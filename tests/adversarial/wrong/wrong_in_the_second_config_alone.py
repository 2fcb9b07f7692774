"""The loop is unrolled without a tail: by 4 in the first config, which k = 64 allows, and by 3 in the second."""

from mmcore import Multiple

DECLARED = {
    "configs": [{"block": (16, 16), "UNROLL": 4}, {"block": (8, 8), "UNROLL": 3}],
    "constraints": (Multiple(("m", "n"), of="block.x"), Multiple("k", of=4)),
}
SIZES = ((32, 32, 64), (24, 24, 64))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p + UNROLL <= k; p += UNROLL)
        for (int i = 0; i < UNROLL; ++i)
            sum += A[row * k + p + i] * B[(p + i) * n + column];
    C[row * n + column] = sum;
}
"""
