"""Inputs are clamped to +-65504, float16's range, under a float32 declaration."""

SIZES = ((33, 35, 7), (64, 64, 64))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += fmaxf(-65504.0f, fminf(A[row * k + p], 65504.0f)) * fmaxf(-65504.0f, fminf(B[p * n + column], 65504.0f));
    C[row * n + column] = sum;
}
"""
