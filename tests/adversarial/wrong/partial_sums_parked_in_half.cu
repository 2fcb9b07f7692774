// After every 16 terms the partial float32 sum is stored as float16 and loaded again.
// sizes: 33x35x17 64x64x64

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
