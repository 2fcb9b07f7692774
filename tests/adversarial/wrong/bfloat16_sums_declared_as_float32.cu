// A bfloat16 C of float32 sums is declared, but the sums are kept in C's type.
// sizes: 33x35x7 64x64x100
// kernel: dtype=bfloat16 accumulator=float32 output=bfloat16

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
    for (int p = 0; p < k; ++p)
        sum = __hfma(A[row * k + p], B[p * n + column], sum);
    C[row * n + column] = sum;
}
