// A union in shared memory holds float16 tiles and, after a barrier, the float32 output.
// kernel: dtype=float16 output=float32

#include <cuda_fp16.h>
#define T 16
union Memory {
    unsigned short tiles[2][T][T];
    float output[T][T];
};

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    __shared__ Memory memory;
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        memory.tiles[0][ty][tx] = row < m && p + tx < k ? __half_as_ushort(A[row * k + p + tx]) : 0;
        memory.tiles[1][ty][tx] = p + ty < k && column < n ? __half_as_ushort(B[(p + ty) * n + column]) : 0;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += __half2float(__ushort_as_half(memory.tiles[0][ty][q])) *
                   __half2float(__ushort_as_half(memory.tiles[1][q][tx]));
        __syncthreads();
    }
    memory.output[T - 1 - ty][tx] = sum;
    __syncthreads();
    if (row < m && column < n)
        C[row * n + column] = memory.output[T - 1 - ty][tx];
}
