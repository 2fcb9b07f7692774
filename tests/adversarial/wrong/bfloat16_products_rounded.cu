// Bfloat16 inputs and float32 sums are declared, but each product is rounded to bfloat16 before it is added.
// sizes: 33x35x7 50x49x60
// kernel: dtype=bfloat16 accumulator=float32

#include <cuda_bf16.h>

extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float product = __bfloat162float(A[row * k + p]) * __bfloat162float(B[p * n + column]);
        sum += __bfloat162float(__float2bfloat16(product));
    }
    C[row * n + column] = sum;
}
