"""float16 throughout: two columns at a time by __hfma2, with the accumulator declared as float16 too."""

from mmcore import Multiple

DECLARED = {
    "dtype": "float16",
    "accumulator": "float16",
    "configs": [{"block": (8, 16)}],
    "grid": lambda problem, config: (-(-problem.n // 16), -(-problem.m // 16)),
    "constraints": (Multiple("n", 2),),
}
SIZES = ((33, 36, 37), (16, 16, 24))


SOURCE = """
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
"""
