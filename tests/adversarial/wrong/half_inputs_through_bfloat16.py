"""Float16 inputs are converted to bfloat16 for their range, which drops three of their bits."""

DECLARED = {"dtype": "float16", "accumulator": "float32"}
SIZES = ((33, 35, 20), (50, 49, 60))

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float narrow(__half x)
{
    return __bfloat162float(__float2bfloat16(__half2float(x)));
}

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += narrow(A[row * k + p]) * narrow(B[p * n + column]);
    C[row * n + column] = sum;
}
"""
