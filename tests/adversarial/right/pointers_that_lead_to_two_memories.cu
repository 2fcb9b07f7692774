// One pointer is to shared memory in the first rows of a tile and to A in the others, with generic loads.
// config: block=16x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float line[4][16];
    __shared__ const float* rows[8];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        if (y < 4)
            line[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
        if (x == 0)
            rows[y] = y < 4 ? line[y] : A + min(row, m - 1) * k + step;
        __syncthreads();
        const float* const a = rows[y];
        for (int p = 0; column < n && p < min(16, k - step); ++p)
            sum += a[p] * B[(step + p) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
