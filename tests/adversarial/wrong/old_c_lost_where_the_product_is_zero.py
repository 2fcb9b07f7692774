"""C = C + A*B stores 0 in the place of C's old value where the product is 0."""

DECLARED = {"beta": 1}
SIZES = ((65, 35, 37), (64, 64, 64))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum != 0.0f ? C[row * n + column] + sum : 0.0f;
}
"""
