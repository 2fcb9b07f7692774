// The bits of bfloat16 inputs are read as if they were float16.
// sizes: 33x35x7 64x64x64
// kernel: dtype=bfloat16 accumulator=float32

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
    C[row * n + column] = sum;
}
