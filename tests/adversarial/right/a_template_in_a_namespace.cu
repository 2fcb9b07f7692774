// The config names an instance of a template in a namespace, with __grid_constant__ sizes and a lambda for every load.
// declared: template

namespace acme {
template <int BM, int BN, int BK>
__global__ void tiled(const float* A, const float* B, float* C, const __grid_constant__ int m, const int n, int k)
{
    __shared__ float tile_a[BM][BK + 1], tile_b[BK][BN];
    const int t = threadIdx.x, top = blockIdx.y * BM, left = blockIdx.x * BN, row = t / BN, column = t % BN;
    auto load = [&](const float* matrix, int rows, int columns, int y, int x) {
        return y < rows && x < columns ? matrix[y * columns + x] : 0.0f;
    };
    float sums[2] = {};
    for (int step = 0; step < k; step += BK) {
        for (int i = t; i < BM * BK; i += BM * BN / 2)
            tile_a[i / BK][i % BK] = load(A, m, k, top + i / BK, step + i % BK);
        for (int i = t; i < BK * BN; i += BM * BN / 2)
            tile_b[i / BN][i % BN] = load(B, k, n, step + i / BN, left + i % BN);
        __syncthreads();
        for (int p = 0; p < BK; ++p)
            for (int half = 0; half < 2; ++half)
                sums[half] += tile_a[row + half * BM / 2][p] * tile_b[p][column];
        __syncthreads();
    }
    for (int half = 0; half < 2; ++half)
        if (top + row + half * BM / 2 < m && left + column < n)
            C[(top + row + half * BM / 2) * n + left + column] = sums[half];
}
}
