"""Bit 16 of one element of C is flipped, as a particle might do it; all the others are right."""

SIZES = ((33, 35, 37), (64, 64, 7))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    const bool hit = row == m / 2 && column == n / 3;
    C[row * n + column] = hit ? __uint_as_float(__float_as_uint(sum) ^ 0x10000u) : sum;
}
"""
