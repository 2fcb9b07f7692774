// mmcore.kernel2_columns: lezione9.kernel2 with x counting columns. mmcore's own, not the lecture's.
//
// C = C + A·B in double precision, with C m×n, A m×k and B k×n, row-major; m, n and k are multiples of
// 32 and arrive in the order m, k, n. Loads, barriers and tiles are lezione9.kernel2's. Only which thread
// does what is different: x runs along the rows of memory, in the matrices and in the tiles. So a warp
// fetches 32 neighbours, and uses one element of tile_a, which is broadcast, and 32 neighbours of
// tile_b, which lie in different banks.

constexpr int TILE = 32;

extern "C" __global__ void kernel2_columns(const double* A, const double* B, double* C, int m, int k, int n)
{
    __shared__ double tile_a[TILE][TILE];
    __shared__ double tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockDim.x * blockIdx.x + tx;
    const int row = blockDim.y * blockIdx.y + ty;

    double sum = C[row * n + column];
    for (int step = 0; step < k / TILE; ++step) {
        tile_a[ty][tx] = A[row * k + step * TILE + tx];
        tile_b[ty][tx] = B[(step * TILE + ty) * n + column];
        __syncthreads();  // the other threads' elements have arrived

        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // the other threads are done with this step's tiles
    }
    C[row * n + column] = sum;
}
