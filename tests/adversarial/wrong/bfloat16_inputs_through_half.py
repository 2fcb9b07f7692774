"""Bfloat16 inputs are converted to float16, which takes what is below 2^-25 for 0 and has no 2^16."""

DECLARED = {"dtype": "bfloat16", "accumulator": "float32"}
SIZES = ((65, 35, 20), (128, 49, 60))

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(__float2half(__bfloat162float(A[row * k + p]))) * __bfloat162float(B[p * n + column]);
    C[row * n + column] = sum;
}
"""
