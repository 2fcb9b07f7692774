// Bfloat16 products of fractions count 85 %: an error within the tolerance for random signs, but not for one sign.
// sizes: 33x35x100 64x64x100
// kernel: dtype=bfloat16 accumulator=bfloat16

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
    for (int p = 0; p < k; ++p) {
        const float a = __bfloat162float(A[row * k + p]), b = __bfloat162float(B[p * n + column]);
        const bool fractions = rintf(a) != a && rintf(b) != b && fabsf(a) >= 0.25f;
        sum = __float2bfloat16(__bfloat162float(sum) + a * b * (fractions ? 0.85f : 1.0f));
    }
    C[row * n + column] = sum;
}
