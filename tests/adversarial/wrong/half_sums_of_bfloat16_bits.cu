// Float16 sums are declared, but rounded to bfloat16's 8 bits after each term.
// sizes: 33x35x20 64x64x100
// kernel: dtype=float16 accumulator=float16

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum = __bfloat162float(__float2bfloat16(sum + __half2float(A[row * k + p]) * __half2float(B[p * n + column])));
    C[row * n + column] = __float2half(sum);
}
