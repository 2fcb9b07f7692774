// Elements of A below 1e-6 count as 0, as in a sparse library with a threshold.
// sizes: 65x35x37 128x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += (fabsf(A[row * k + p]) < 1e-6f ? 0.0f : A[row * k + p]) * B[p * n + column];
    C[row * n + column] = sum;
}
