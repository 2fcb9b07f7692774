// C = C + A*B of float16 inputs and a float32 C, but C's old value is rounded to float16.
// sizes: 33x35x7 64x64x64
// kernel: dtype=float16 accumulator=float32 beta=1

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
    C[row * n + column] = sum + __half2float(__float2half(C[row * n + column]));
}
