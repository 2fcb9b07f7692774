// Two buffers in turn need one barrier per step: a buffer is refilled only after the barrier that follows its use.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[2][16][16], tile_b[2][16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int step = 0, b = 0; step < k; step += 16, b ^= 1) {
        tile_a[b][y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
        tile_b[b][y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += tile_a[b][y][p] * tile_b[b][p][x];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
