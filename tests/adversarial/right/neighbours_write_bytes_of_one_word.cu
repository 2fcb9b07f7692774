// Two threads write the halves of one 32-bit word of shared memory and of C: different bytes, hence no race.
// kernel: dtype=bfloat16 output=bfloat16

#include <cuda_bf16.h>
extern "C" __global__ void f(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int m, int n, int k)
{
    __shared__ __align__(4) unsigned char bytes[16][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const unsigned char* from = (const unsigned char*)A;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        // Even threads copy the low bytes of two elements, odd threads the high ones.
        const int first = x & ~1, odd = x & 1;
        for (int i = 0; i < 2; ++i)
            bytes[y][2 * (first + i) + odd] =
                row < m && step + first + i < k ? from[2 * (row * k + step + first + i) + odd] : 0;
        __syncthreads();
        for (int p = 0; p < min(16, k - step); ++p)
            if (column < n)
                sum += __bfloat162float(((__nv_bfloat16*)bytes[y])[p]) * __bfloat162float(B[(step + p) * n + column]);
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = __float2bfloat16(sum);
}
