// The tile of A is reused to transpose C, after a barrier.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T + 1], b[T][T + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * T, y0 = blockIdx.y * T;
    float sum = 0.0f;  // of row y0 + tx, column x0 + ty
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = y0 + ty < m && p + tx < k ? A[(y0 + ty) * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && x0 + tx < n ? B[(p + ty) * n + x0 + tx] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[tx][q] * b[q][ty];
        __syncthreads();
    }
    a[tx][ty] = sum;
    __syncthreads();
    if (y0 + ty < m && x0 + tx < n)
        C[(y0 + ty) * n + x0 + tx] = a[ty][tx];
}
