// Threads outside C leave the loop with the barriers at once and wait at the barrier after it, in the same warps.
// expect: divergent-barrier
// not on: GPU
// sizes: 33x35x37

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], c[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const int steps = column < n ? (k + T - 1) / T : 0;
    float sum = 0.0f;
    for (int s = 0; s < steps; ++s) {
        const int p = s * T;
        a[ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T && p + q < k; ++q)
            sum += a[ty][q] * B[(p + q) * n + column];
        __syncthreads();
    }
    c[ty][tx] = sum;
    __syncthreads();
    if (row < m && column < n)
        C[row * n + column] = c[ty][tx];
}
