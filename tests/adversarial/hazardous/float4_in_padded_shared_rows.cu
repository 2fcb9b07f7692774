// Shared rows are padded from 16 to 17 elements against bank conflicts, and then filled four elements at a time.
// expect: misaligned
// sizes: 32x32x32

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float a[T][T + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        if (tx < 4)
            *(float4*)&a[ty][4 * tx] = *(const float4*)&A[row * k + p + 4 * tx];
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * B[(p + q) * n + column];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
