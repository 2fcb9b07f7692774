// A kernel converted from float32 to float64 still has a float tile of A in shared memory.
// sizes: 33x35x20 50x51x7
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    __shared__ float tile[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    double sum = 0.0;
    for (int start = 0; start < k; start += 16) {
        const int p = start + threadIdx.x;
        tile[threadIdx.y][threadIdx.x] = row < m && p < k ? A[row * k + p] : 0.0;
        __syncthreads();
        if (column < n)
            for (int i = 0; i < 16 && start + i < k; ++i)
                sum += tile[threadIdx.y][i] * B[(start + i) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
