// Threads outside C return at the top, so that the tile elements that they should load remain unset.
// expect: uninitialized-read
// sizes: 20x20x20

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
