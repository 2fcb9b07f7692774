// Whole tiles are synchronized, but the code for the remainder of k has no barrier. It is right where 16 divides k.
// expect: shared-race
// sizes: 32x32x37 32x32x64

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    int p = 0;
    for (; p + T <= k; p += T) {
        a[ty][tx] = row < m ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && p + tx < k)
        a[ty][tx] = A[row * k + p + tx];
    if (p + ty < k && column < n)
        b[ty][tx] = B[(p + ty) * n + column];
    if (row < m && column < n) {
        for (int q = 0; p + q < k; ++q)
            sum += a[ty][q] * b[q][tx];
        C[row * n + column] = sum;
    }
}
