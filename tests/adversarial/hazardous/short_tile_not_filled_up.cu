// Loads are guarded, but the skipped elements are not set to zero: where k is below the tile's depth they are unset.
// expect: uninitialized-read
// sizes: 20x20x10

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        if (row < m && p + tx < k)
            a[ty][tx] = A[row * k + p + tx];
        if (p + ty < k && column < n)
            b[ty][tx] = B[(p + ty) * n + column];
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
