// One thread per element of C, with leading dimensions, in any types.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename In, typename Sum, typename Out, bool Added>
__global__ void strided(
    const In* A, const In* B, Out* C, int m, int n, int k, int lda, int ldb, int ldc)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    Sum sum = Added ? static_cast<Sum>(C[row * ldc + column]) : Sum(0);
    for (int p = 0; p < k; ++p)
        sum += static_cast<Sum>(A[row * lda + p]) * static_cast<Sum>(B[p * ldb + column]);
    C[row * ldc + column] = static_cast<Out>(sum);
}
