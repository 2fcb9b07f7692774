"""Float16 inputs, float32 sums declared: eight terms at a time are summed in float16, then added in float32."""

DECLARED = {"dtype": "float16", "accumulator": "float32"}
SIZES = ((33, 35, 12), (64, 64, 100))

SOURCE = """
#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 8) {
        __half part = __float2half(0.0f);
        for (int p = start; p < min(start + 8, k); ++p)
            part = __hfma(A[row * k + p], B[p * n + column], part);
        sum += __half2float(part);
    }
    C[row * n + column] = sum;
}
"""
