// The result is scaled by an alpha of 0.6. In bfloat16 sums the error is near the tolerance.
// sizes: 33x35x37 64x64x100
// kernel: dtype=bfloat16 accumulator=bfloat16
// arguments: A, B, C, m, n, k, 0.6f

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k,
                             float alpha)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
    for (int p = 0; p < k; ++p)
        sum = __hfma(A[row * k + p], B[p * n + column], sum);
    C[row * n + column] = __float2bfloat16(alpha * __bfloat162float(sum));
}
