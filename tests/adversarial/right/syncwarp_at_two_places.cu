// Lower and upper lanes load different matrices and call two different __syncwarp() with the same full mask.
// config: block=32
// grid: ceil(n/4), ceil(m/8)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[8][4], tile_b[4][4];
    const int t = threadIdx.x, x = t % 4, y = t / 4, row = blockIdx.y * 8 + y, column = blockIdx.x * 4 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 4) {
        if (y < 4) {
            tile_b[y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
            __syncwarp();
            sum = fmaf(tile_a[y][0], tile_b[0][x], sum);
        } else {
            for (int i = t - 16; i < 32; i += 16) {
                const int r = blockIdx.y * 8 + i / 4;
                tile_a[i / 4][x] = r < m && step + x < k ? A[r * k + step + x] : 0.0f;
            }
            __syncwarp();
            sum += tile_b[0][x] * tile_a[y][0];
        }
        for (int p = 1; p < 4; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        __syncwarp();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
