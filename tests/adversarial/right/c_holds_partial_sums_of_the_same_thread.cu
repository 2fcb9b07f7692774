// Each thread sets its element of C to zero, adds every term to it there, and writes the final value once more.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    volatile float* const c = &C[row * n + column];
    *c = 0.0f;
    for (int p = 0; p < k; ++p)
        *c = *c + A[row * k + p] * B[p * n + column];
    const float sum = *c;
    *c = -1.0f;
    *c = sum;
}
