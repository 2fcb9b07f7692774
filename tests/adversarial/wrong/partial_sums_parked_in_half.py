"""After every 16 terms the partial sum is parked as float16 and taken up again; in between it is float32."""

SIZES = ((33, 35, 17), (64, 64, 64))

SOURCE = """
#include <cuda_fp16.h>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __half parked = __float2half(0.0f);
    for (int start = 0; start < k; start += 16) {
        float sum = __half2float(parked);
        for (int p = start; p < min(start + 16, k); ++p)
            sum += A[row * k + p] * B[p * n + column];
        parked = __float2half(sum);
    }
    C[row * n + column] = __half2float(parked);
}
"""
