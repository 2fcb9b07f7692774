// Warps whose row is outside C return before the barriers of the others. The remaining warps load the tile of B.
// config: block=32x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile[32][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 32 + x;
    if (row >= m)
        return;
    const int live = min(8, m - (int)blockIdx.y * 8);
    float sum = 0.0f;
    for (int step = 0; step < k; step += 32) {
        for (int p = y; p < 32; p += live)
            tile[p][x] = step + p < k && column < n ? B[(step + p) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < min(32, k - step); ++p)
            sum += A[row * k + step + p] * tile[p][x];
        __syncthreads();
    }
    if (column < n)
        C[row * n + column] = sum;
}
