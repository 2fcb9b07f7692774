"""C is clamped to float16's largest number, though it is float32."""

SIZES = ((33, 35, 7), (64, 64, 64))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = fmaxf(-65504.0f, fminf(sum, 65504.0f));
}
"""
