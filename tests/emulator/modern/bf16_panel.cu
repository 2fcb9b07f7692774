// bfloat16 inputs, float32 sums, a one-dimensional block, leading dimensions, and a panel of A in more dynamic shared
// memory than a block gets without asking.

#include <cuda_bf16.h>

extern __shared__ __align__(16) unsigned char panel[];

extern "C" __global__ void bf16_panel(
    const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int m, int n, int k, int lda, int ldb, int ldc, int rows)
{
    __nv_bfloat16* const a = reinterpret_cast<__nv_bfloat16*>(panel);
    const int first = blockIdx.y * rows;
    for (int index = threadIdx.x; index < rows * k; index += blockDim.x) {
        const int row = first + index / k;
        a[index] = row < m ? A[row * lda + index % k] : __float2bfloat16(0.0f);
    }
    __syncthreads();

    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    for (int row = first; row < min(first + rows, m); ++row) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += __bfloat162float(a[(row - first) * k + p]) * __bfloat162float(B[p * ldb + column]);
        C[row * ldc + column] = sum;
    }
}
