// upc.kernel10: every block of threads computes its tile of C from tiles of A and B in shared memory.
//
// C = A·B with C m×n, A m×k and B k×n, row-major. A tile is TILE×TILE, and so is a block of threads (the
// launch defines TILE). In kernel01 all TILE threads of a row load the same row of A from global memory,
// and all TILE threads of a column the same column of B. Here the block loads each element once and
// shares it: 2k/TILE global loads per thread instead of 2k, for the same 2k flops.
//
// m, n and k must be multiples of TILE: nothing tests for the edge of a matrix.

extern "C" __global__ void kernel10(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int step = 0; step < k / TILE; ++step) {
        // One element of each tile per thread. tx runs along a row in both, so both loads are coalesced.
        tile_a[ty][tx] = A[row * k + step * TILE + tx];
        tile_b[ty][tx] = B[(step * TILE + ty) * n + column];

        // What a thread is about to read, other threads have written: wait until all have.
        __syncthreads();

        // In tile_a the threads of a row read the same word, which is broadcast to them; in tile_b they
        // read neighbouring words, which lie in different banks. Neither costs more than one access.
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];

        // The next step overwrites both tiles: wait until nobody reads them any more.
        __syncthreads();
    }
    C[row * n + column] = sum;
}
