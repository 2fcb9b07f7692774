"""In blocks of odd blockIdx.x + blockIdx.y the last term is left out."""

SIZES = ((16, 16, 20), (33, 35, 37))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int terms = k - (blockIdx.x + blockIdx.y) % 2;

    float sum = 0.0f;
    for (int p = 0; p < terms; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""
