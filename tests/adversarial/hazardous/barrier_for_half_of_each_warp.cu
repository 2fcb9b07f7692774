// Only the threads that load wait at the barrier. The other half of each warp continues to the next barrier.
// expect: divergent-barrier
// not on: GPU

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][8];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 8) {
        if (tx < 8) {
            a[ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
            __syncthreads();
        }
        for (int q = 0; q < 8 && p + q < k && column < n; ++q)
            sum += a[ty][q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
