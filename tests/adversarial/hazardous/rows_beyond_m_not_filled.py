"""Rows of the tile beyond the last of A stay unfilled, and threads add up what lies there; the results are dropped."""

SIZES = ((33, 32, 32),)
EXPECTED = {"check": "uninitialized-read"}

SOURCE = """
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
"""
