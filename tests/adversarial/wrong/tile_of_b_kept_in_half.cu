// The tile of B is kept in shared memory as float16 to save memory. A and the sums are float32.
// sizes: 33x35x20 50x51x7

#include <cuda_fp16.h>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __half tile[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        const int p = start + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = __float2half(p < k && column < n ? B[p * n + column] : 0.0f);
        __syncthreads();
        if (row < m)
            for (int i = 0; i < 16 && start + i < k; ++i)
                sum += A[row * k + start + i] * __half2float(tile[i][threadIdx.x]);
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
