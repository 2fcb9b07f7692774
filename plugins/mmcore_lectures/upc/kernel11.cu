// upc.kernel11: kernel10 for matrices of any size.
//
// C = A·B with C m×n, A m×k and B k×n, row-major; tiles and blocks of threads are TILE×TILE. The grid is
// rounded up to whole tiles, and so is the way along k: full tiles first, then one last tile that may be
// only partly filled.
//
// The loads are not guarded. Every thread of the block has to take part in loading and in the barriers,
// even one whose own element of C does not exist, and a test at every load would slow down all the full
// tiles. So loads beyond a row fetch elements of the next one, and loads beyond the last row fetch what
// lies behind the matrix. None of these values reaches an element of C: what is too much in a row of A
// or column of B stands at p >= k in the last tile, where the inner loop does not go; what is too much
// in m or n only enters sums that are not stored.

extern "C" __global__ void kernel11(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;

    // Full tiles, as in kernel10, for as long as something is left for the tile behind them. The inner
    // loop's length is a constant here, so that the compiler can unroll it.
    int start = 0;
    for (; start < k - TILE; start += TILE) {
        tile_a[ty][tx] = A[row * k + start + tx];
        tile_b[ty][tx] = B[(start + ty) * n + column];
        __syncthreads();  // all of both tiles is there

        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // nobody reads them any more
    }

    // The last tile has 1 to TILE columns of A and rows of B in it: the inner loop stops at k. It is the
    // only tile when k <= TILE. No tile follows, so no second barrier is needed.
    tile_a[ty][tx] = A[row * k + start + tx];
    tile_b[ty][tx] = B[(start + ty) * n + column];
    __syncthreads();
    for (int p = 0; p < k - start; ++p)
        sum += tile_a[ty][p] * tile_b[p][tx];

    if (row < m && column < n)
        C[row * n + column] = sum;
}
