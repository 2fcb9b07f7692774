// Bfloat16 inputs are converted to float16, which rounds numbers below 2^-25 to 0 and cannot hold 2^16.
// sizes: 65x35x20 128x49x60
// kernel: dtype=bfloat16 accumulator=float32

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
