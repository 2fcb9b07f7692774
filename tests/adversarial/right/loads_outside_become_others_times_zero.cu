// Outside the matrices the nearest element inside is loaded and multiplied by zero, without a branch.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        tile_a[y][x] = A[min(row, m - 1) * k + min(step + x, k - 1)] * (float)(row < m & step + x < k);
        tile_b[y][x] = B[min(step + y, k - 1) * n + min(column, n - 1)] * (float)(step + y < k & column < n);
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
