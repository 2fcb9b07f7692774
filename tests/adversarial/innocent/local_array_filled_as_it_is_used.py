"""A ring of local variables is filled in its first round and added to later; only what was filled is used."""

SIZES = ((33, 35, 37), (20, 20, 3))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float part[5];
    for (int p = 0; p < k; ++p) {
        const float product = A[row * k + p] * B[p * n + column];
        part[p % 5] = p < 5 ? product : part[p % 5] + product;
    }
    float sum = 0.0f;
    for (int i = 0; i < min(5, k); ++i)
        sum += part[i];
    C[row * n + column] = sum;
}
"""
