// The halves of a block compute different tiles in different numbers of steps, and wait at named barriers of 64.
// config: block=8x16
// grid: ceil(n/8), ceil(m/16)

__device__ void wait(int half)
{
    if (half)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tiles[2][8][8];
    const int x = threadIdx.x, y = threadIdx.y % 8, half = threadIdx.y / 8, column = blockIdx.x * 8 + x;
    const int row = blockIdx.y * 16 + half * 8 + y;
    if (blockIdx.y * 16 + half * 8 >= m)
        return;
    const int depth = half ? 4 : 8;
    float sum = 0.0f;
    for (int step = 0; step < k; step += depth) {
        if (y < depth)
            tiles[half][y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
        wait(half);
        for (int p = 0; p < min(depth, k - step); ++p)
            sum += (row < m ? A[row * k + step + p] : 0.0f) * tiles[half][p][x];
        wait(half);
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
