// The sum grows in its element of C, and no other thread uses it.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    C[row * n + column] = 0.0f;
    for (int p = 0; p < k; ++p)
        C[row * n + column] += A[row * k + p] * B[p * n + column];
}
