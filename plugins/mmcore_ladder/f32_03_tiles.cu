// ladder.f32.03_tiles: tiles of A and B in shared memory.
//
// 02_coalesced makes two loads from global memory for every multiply-add, though all threads of a block need the same
// few rows of A and columns of B. Here the block fetches a tile of each together, every thread one element of both,
// and then multiplies them out of shared memory: a TILE-th of the global loads.

extern "C" __global__ void __launch_bounds__(TILE * TILE)
tiles(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        // Every thread has to take part in the barriers, even one without an element of C. What lies beyond a matrix
        // is zero in the tile, so that the inner loop always has the same length and can be unrolled.
        tile_a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
        tile_b[ty][tx] = start + ty < k && column < n ? B[(start + ty) * n + column] : 0.0f;
        __syncthreads();  // both tiles are there

        // A warp reads one element of tile_a, which is broadcast, and neighbours of tile_b, which lie in different
        // banks: no conflicts.
#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // nobody reads them any more
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
