// A float32 sum becomes a bfloat16 by truncation of its lower half instead of rounding.
// sizes: 33x35x7 64x64x64
// kernel: dtype=bfloat16 accumulator=float32 output=bfloat16

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __bfloat162float(A[row * k + p]) * __bfloat162float(B[p * n + column]);
    C[row * n + column] = __ushort_as_bfloat16(__float_as_uint(sum) >> 16);
}
