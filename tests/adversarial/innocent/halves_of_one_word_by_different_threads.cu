// Two threads store the float16 halves of a 32-bit word, in shared memory and in C.
// kernel: dtype=float16 output=float16

#include <cuda_fp16.h>
#define T 16
extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    __shared__ __align__(4) unsigned short a[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = row < m && p + tx < k ? __half_as_ushort(A[row * k + p + tx]) : 0;
        __syncthreads();
        for (int q = 0; q < T; q += 2) {
            const unsigned pair = *(const unsigned*)&a[ty][q];
            if (p + q < k && column < n)
                sum += __half2float(__ushort_as_half(pair & 0xffff)) * __half2float(B[(p + q) * n + column]);
            if (p + q + 1 < k && column < n)
                sum += __half2float(__ushort_as_half(pair >> 16)) * __half2float(B[(p + q + 1) * n + column]);
        }
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = __float2half(sum);
}
