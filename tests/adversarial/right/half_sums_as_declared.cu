// Everything is float16, the declared accumulator too: two columns at a time by __hfma2.
// sizes: 33x36x37 16x16x24
// config: block=8x16
// kernel: dtype=float16 accumulator=float16
// multiples of 2: n
// grid: ceil(n/16), ceil(m/16)

#include <cuda_fp16.h>
extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= m || column >= n)
        return;
    __half2 sums = __float2half2_rn(0.0f);
    for (int p = 0; p < k; ++p)
        sums = __hfma2(__half2half2(A[row * k + p]), *(const __half2*)&B[p * n + column], sums);
    *(__half2*)&C[row * n + column] = sums;
}
