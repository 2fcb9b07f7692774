// Even and odd lanes of a warp wait at different barrier.sync instructions, which PTX allows without .aligned.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        if (x & 1) {
            tile_a[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
            tile_b[y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
            asm volatile("barrier.sync 0;" ::: "memory");
        } else {
            tile_b[y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
            tile_a[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
            asm volatile("barrier.sync 0;" ::: "memory");
        }
        for (int p = 0; p < 16; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        asm volatile("barrier.sync 0;" ::: "memory");
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
