// A is multiplied by 2^64 and C by 2^-64 to avoid subnormals: products from 2^64 on become infinite.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * 18446744073709551616.0f * B[p * n + column];
    C[row * n + column] = sum * 5.421010862427522e-20f;
}
