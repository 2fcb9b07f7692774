// Float16 inputs and float32 sums are declared, but each product is rounded to float16 before it is added.
// sizes: 33x35x7 50x49x60
// kernel: dtype=float16 accumulator=float32

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(__hmul(A[row * k + p], B[p * n + column]));
    C[row * n + column] = sum;
}
