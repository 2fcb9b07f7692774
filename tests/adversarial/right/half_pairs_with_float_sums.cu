// float16 inputs are loaded as half2 where a row of A begins at an even element, and else one by one.
// sizes: 33x35x37 20x24x32
// kernel: dtype=float16 output=float16

#include <cuda_fp16.h>
extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const __half* a = A + row * k;
    float sum = 0.0f;
    int p = 0;
    if ((size_t)a % 4 == 2) {
        sum = __half2float(a[0]) * __half2float(B[column]);
        p = 1;
    }
    for (; p + 2 <= k; p += 2) {
        const float2 pair = __half22float2(*(const __half2*)(a + p));
        sum += pair.x * __half2float(B[p * n + column]);
        sum += pair.y * __half2float(B[(p + 1) * n + column]);
    }
    if (p < k)
        sum += __half2float(a[p]) * __half2float(B[p * n + column]);
    C[row * n + column] = __float2half(sum);
}
