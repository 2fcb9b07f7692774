// Two threads each insert a half into one 32-bit word by reading, masking and writing it: one half may be lost.
// expect: shared-race
// kernel: dtype=float16 output=float32

#include <cuda_fp16.h>
#define T 16
extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    __shared__ unsigned a[T][T / 2];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const unsigned shift = tx % 2 * 16;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx / 2] = 0;
        __syncthreads();
        const __half mine = row < m && p + tx < k ? A[row * k + p + tx] : __half(0.0f);
        a[ty][tx / 2] = a[ty][tx / 2] & ~(0xffffu << shift) | (unsigned)__half_as_ushort(mine) << shift;
        __syncthreads();
        for (int q = 0; q < T && p + q < k && column < n; ++q)
            sum += __half2float(__ushort_as_half(a[ty][q / 2] >> q % 2 * 16)) * __half2float(B[(p + q) * n + column]);
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
