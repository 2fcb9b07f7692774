// Bfloat16 sums lack every fifth term.
// sizes: 33x35x37 64x64x100
// kernel: dtype=bfloat16 accumulator=bfloat16

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
    for (int p = 0; p < k; ++p)
        if (p % 5 != 4)
            sum = __hfma(A[row * k + p], B[p * n + column], sum);
    C[row * n + column] = sum;
}
