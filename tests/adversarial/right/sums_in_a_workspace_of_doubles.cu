// Slices of k are added as doubles to a workspace by atomicAdd. A last launch rounds the sums to C's float16.
// kernel: dtype=float16 output=float16
// workspace: sums 8 * m * n
// launch: zero<<<(ceil(n/16), ceil(m/16), 1), block>>>(A, B, C, m, n, k, sums)
// launch: add<<<(ceil(n/16), ceil(m/16), 5), block>>>(A, B, C, m, n, k, sums)
// launch: finish<<<(ceil(n/16), ceil(m/16), 1), block>>>(A, B, C, m, n, k, sums)

#include <cuda_fp16.h>
#define KERNEL(name) \
    extern "C" __global__ void name(const __half* A, const __half* B, __half* C, int m, int n, int k, double* sums)
#define PLACE \
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column; \
    if (row >= m || column >= n) return

KERNEL(zero)
{
    PLACE;
    sums[i] = 0.0;
}

KERNEL(add)
{
    PLACE;
    double sum = 0.0;
    for (int p = blockIdx.z; p < k; p += 5)
        sum += (double)__half2float(A[row * k + p]) * (double)__half2float(B[p * n + column]);
    atomicAdd(&sums[i], sum);
}

KERNEL(finish)
{
    PLACE;
    C[i] = __double2half(sums[i]);
}
