// The row of A is clamped to m - 2 instead of m - 1, so that C's last row equals the one before it.
// sizes: 1x20x20 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[min(row, max(m - 2, 0)) * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
