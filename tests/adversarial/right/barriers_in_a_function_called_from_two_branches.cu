// Blocks on C's edge and inside C call the same function with barriers from different branches.

template <bool guarded>
__device__ float tile_sum(const float* A, const float* B, int row, int column, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        tile_a[y][x] = (!guarded || row < m) && step + x < k ? A[row * k + step + x] : 0.0f;
        tile_b[y][x] = (!guarded || column < n) && step + y < k ? B[(step + y) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        __syncthreads();
    }
    return sum;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if ((blockIdx.y + 1) * 16 <= m && (blockIdx.x + 1) * 16 <= n) {
        C[row * n + column] = tile_sum<false>(A, B, row, column, m, n, k);
    } else {
        const float sum = tile_sum<true>(A, B, row, column, m, n, k);
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
}
