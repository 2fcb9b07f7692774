// Float16 sums lack the term in the middle of k, which is below their tolerance at k = 100.
// sizes: 33x35x60 64x64x100
// kernel: dtype=float16 accumulator=float16

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __half sum = __float2half(0.0f);
    for (int p = 0; p < k; ++p)
        if (p != k / 2)
            sum = __hfma(A[row * k + p], B[p * n + column], sum);
    C[row * n + column] = sum;
}
