// An integer array in shared memory holds the bits of floats, which are never converted.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ unsigned a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = row < m && p + tx < k ? __float_as_uint(A[row * k + p + tx]) : 0u;
        b[ty][tx] = p + ty < k && column < n ? ((const unsigned*)B)[(p + ty) * n + column] : 0u;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += __uint_as_float(a[ty][q]) * *(const float*)&b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
