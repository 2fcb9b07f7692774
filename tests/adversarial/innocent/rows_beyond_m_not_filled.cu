// Rows of the tile below A's last row remain unset. Threads add them up, and the results are dropped.
// sizes: 33x32x32

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        if (row < m)
            a[ty][tx] = p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
