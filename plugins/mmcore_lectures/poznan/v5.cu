// poznan.v5: v4a, with a 2×2 patch of C per thread.
//
// A block of TILE×TILE threads computes 2·TILE × 2·TILE elements of C. Per step it fetches 2·TILE × TILE
// elements of A and TILE × 2·TILE of B, twice as many as v4a, and makes four times as many products of
// them: half the global loads per flop. Two elements of A and two of B serve four products, so shared
// memory is read half as often, too.
//
// The price is registers: four sums and four elements on their way. They are scalars with names of their
// own, because the report found that arrays ended up in local memory, which is as slow as global memory.
//
// Like v4a, the last step asks for TILE columns right of A and TILE rows below B; the values are never
// used.
//
// C = A·B, all three n×n and row-major; n must be a multiple of 2·TILE.

template <int TILE>
__global__ void v5(float* C, const float* A, const float* B, int n)
{
    __shared__ float tile_a[2 * TILE][TILE];
    __shared__ float tile_b[TILE][2 * TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // The upper left element of the patch; its other elements are one row down and one column right.
    const int row = 2 * (blockIdx.y * TILE + ty);
    const int column = 2 * (blockIdx.x * TILE + tx);

    // A: one element in each of two rows, tx along the row: coalesced. B: two elements side by side, so
    // that neighbouring threads are two elements apart: each of the two loads uses every other element
    // of what it covers.
    //
    // Pointers rather than int indexes: the step behind the last may lie beyond what an int can count.
    const float* a = A + row * n + tx;
    const float* b = B + ty * n + column;

    float next_a0 = a[0];
    float next_a1 = a[n];
    float next_b0 = b[0];
    float next_b1 = b[1];

    float sum00 = 0.0f;
    float sum01 = 0.0f;
    float sum10 = 0.0f;
    float sum11 = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile_a[2 * ty][tx] = next_a0;
        tile_a[2 * ty + 1][tx] = next_a1;
        tile_b[ty][2 * tx] = next_b0;
        tile_b[ty][2 * tx + 1] = next_b1;
        __syncthreads();  // both tiles are complete

        a += TILE;
        b += TILE * n;
        next_a0 = a[0];
        next_a1 = a[n];
        next_b0 = b[0];
        next_b1 = b[1];

        // One loop per sum, as the lecture has it. Unrolled, they are one stretch of straight code, in
        // which the compiler is free to read each element of the tiles once for both of the sums that
        // need it.
#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum00 += tile_a[2 * ty][p] * tile_b[p][2 * tx];
#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum01 += tile_a[2 * ty][p] * tile_b[p][2 * tx + 1];
#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum10 += tile_a[2 * ty + 1][p] * tile_b[p][2 * tx];
#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum11 += tile_a[2 * ty + 1][p] * tile_b[p][2 * tx + 1];
        __syncthreads();  // both tiles may be overwritten
    }

    C[row * n + column] = sum00;
    C[row * n + column + 1] = sum01;
    C[(row + 1) * n + column] = sum10;
    C[(row + 1) * n + column + 1] = sum11;
}
