// A is scaled by 2^40 before the sum, and the sum by 2^-40 after it: exact, subnormal inputs included.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * 0x1p40f * B[p * n + column];
    C[row * n + column] = sum * 0x1p-40f;
}
