// Subnormal float16 elements of A count as 0 although nothing declares it.
// sizes: 120x35x20 128x64x64
// kernel: dtype=float16 accumulator=float32

#include <cuda_fp16.h>

extern "C" __global__ void f(const __half* A, const __half* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = __half2float(A[row * k + p]);
        sum += (fabsf(a) < 6.103515625e-05f ? 0.0f : a) * __half2float(B[p * n + column]);
    }
    C[row * n + column] = sum;
}
