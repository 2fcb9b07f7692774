// unsa.tiled: a mosaic. Each block of threads computes one tile of C from tiles in shared memory.
//
// C = A·B, all three WIDTH×WIDTH and row-major. Both the width and the tile are compile-time constants,
// so the number of phases is one as well. An element loaded into shared memory serves TILE_WIDTH
// threads, which divides the loads from global memory by TILE_WIDTH.
//
// WIDTH must be a multiple of TILE_WIDTH: there is no bounds test. The tile need not be a power of two.

extern "C" __global__ void tiled(const float* A, const float* B, float* C)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int column = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int phase = 0; phase < WIDTH / TILE_WIDTH; ++phase) {
        // tx runs along the rows of both tiles. They are shorter than a warp, so a warp's load is
        // made of pieces of several rows: coalesced piece by piece.
        tile_a[ty][tx] = A[row * WIDTH + phase * TILE_WIDTH + tx];
        tile_b[ty][tx] = B[(phase * TILE_WIDTH + ty) * WIDTH + column];
        __syncthreads();  // the tiles are complete

        for (int p = 0; p < TILE_WIDTH; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // the tiles are free for the next phase
    }
    C[row * WIDTH + column] = sum;
}
