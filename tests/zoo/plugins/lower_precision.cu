// Sums are declared as float32 and computed in float16.
#include <cuda_fp16.h>

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    __half sum = __float2half(0.0f);
    for (int p = 0; p < k; ++p)
        sum = __hfma(__float2half(A[row * k + p]), __float2half(B[p * n + column]), sum);
    C[row * n + column] = __half2float(sum);
}
