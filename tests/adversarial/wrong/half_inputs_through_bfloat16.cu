// Float16 inputs are converted to bfloat16, which drops three of their bits.
// sizes: 33x35x20 50x49x60
// kernel: dtype=float16 accumulator=float32

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
