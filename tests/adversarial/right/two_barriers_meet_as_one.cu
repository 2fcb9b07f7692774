// Even warps wait at one __syncthreads() and odd warps at another, which are the same barrier 0.
// config: block=32x8 BM=8 BN=32 BK=32

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[BM][BK], tile_b[BK][BN];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * BM + y, column = blockIdx.x * BN + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += BK) {
        if (y & 1) {
            for (int r = y / 2; r < BM; r += 4) {
                const int other = blockIdx.y * BM + r;
                tile_a[r][x] = other < m && step + x < k ? A[other * k + step + x] : 0.0f;
            }
            __syncthreads();
            sum += tile_a[y][0] * tile_b[0][x];
        } else {
            for (int p = y / 2; p < BK; p += 4)
                tile_b[p][x] = column < n && step + p < k ? B[(step + p) * n + column] : 0.0f;
            __syncthreads();
            sum = fmaf(tile_b[0][x], tile_a[y][0], sum);
        }
        for (int p = 1; p < BK; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
