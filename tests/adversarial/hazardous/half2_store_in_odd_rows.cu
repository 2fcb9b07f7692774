// Two adjacent elements of a float16 C are stored as one __half2, which is misaligned in odd rows of odd length.
// expect: misaligned
// sizes: 9x40x11 9x39x11
// kernel: dtype=float16 output=float16
// grid: ceil(n/32), ceil(m/16)

#include <cuda_fp16.h>
extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = 2 * (blockIdx.x * 16 + threadIdx.x);
    if (row >= m || column >= n)
        return;
    float x = 0.0f, y = 0.0f;
    for (int p = 0; p < k; ++p) {
        x += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
        if (column + 1 < n)
            y += __half2float(A[row * k + p]) * __half2float(B[p * n + column + 1]);
    }
    if (column + 1 < n)
        *(__half2*)&C[row * n + column] = __halves2half2(__float2half(x), __float2half(y));
    else
        C[row * n + column] = __float2half(x);
}
