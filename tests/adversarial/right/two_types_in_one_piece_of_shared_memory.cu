// A union holds tiles during the summation and, after a barrier, the sums as doubles.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ union {
        struct { float a[16][16], b[16][16]; } tiles;
        double sums[16][16];
    } both;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    double sum = 0.0;
    for (int step = 0; step < k; step += 16) {
        both.tiles.a[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
        both.tiles.b[y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += (double)both.tiles.a[y][p] * both.tiles.b[p][x];
        __syncthreads();
    }
    both.sums[x][y] = sum;
    __syncthreads();
    if (row < m && column < n)
        C[row * n + column] = (float)both.sums[x][y];
}
