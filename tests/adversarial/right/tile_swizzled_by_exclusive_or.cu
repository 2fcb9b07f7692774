// A tile is stored at column x ^ y instead of x, so that reading it by columns has no bank conflicts.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        const int load = blockIdx.y * 16 + y;
        tile_a[y][x ^ y] = load < m && step + x < k ? A[load * k + step + x] : 0.0f;
        tile_b[y][x ^ y] = step + y < k && blockIdx.x * 16 + x < n ? B[(step + y) * n + blockIdx.x * 16 + x] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += tile_a[x][p ^ x] * tile_b[p][y ^ p];
        __syncthreads();
    }
    // Back to row-major order before the store.
    tile_a[y][x ^ y] = sum;
    __syncthreads();
    if (blockIdx.y * 16 + y < m && blockIdx.x * 16 + x < n)
        C[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = tile_a[x][y ^ x];
}
