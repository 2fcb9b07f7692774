// Elements of a float16 C are rounded to bfloat16 first, which keeps 8 of 11 bits.
// sizes: 33x35x20 50x49x60
// kernel: dtype=float16 accumulator=float32 output=float16

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
    C[row * n + column] = __float2half(__bfloat162float(__float2bfloat16(sum)));
}
