// The right side of && holds the barrier of __syncthreads_or, which threads outside C never evaluate.
// expect: divergent-barrier
// not on: GPU
// sizes: 33x35x37

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        const float mine = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        a[ty][tx] = mine;
        if (column < n && __syncthreads_or(mine != 0.0f))
            for (int q = 0; q < T && p + q < k; ++q)
                sum += a[ty][q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
