// poznan.v4a: v3, with the next tiles on their way into registers while the current ones are used.
//
// In v3 the block loads, waits, computes, waits. A load that is not needed at once need not be waited
// for: here each thread asks for its elements of the next step right after the barrier, computes from
// shared memory, and looks at what has arrived only in the next step. It costs two registers per thread.
//
// The last step asks as well, for tiles that do not exist: TILE columns right of A and TILE rows below
// B. A test would cost every step something, so the loads are made, and their values are never used.
//
// C = A·B, all three n×n and row-major; n must be a multiple of TILE.

template <int TILE>
__global__ void v4a(float* C, const float* A, const float* B, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    // Pointers rather than int indexes: the step behind the last may lie beyond what an int can count.
    const float* a = A + row * n + tx;
    const float* b = B + ty * n + column;

    float next_a = *a;
    float next_b = *b;

    float sum = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile_a[ty][tx] = next_a;  // here the load of the step before is waited for
        tile_b[ty][tx] = next_b;
        __syncthreads();  // both tiles are complete

        a += TILE;
        b += TILE * n;
        next_a = *a;  // coalesced as in v3, only a step earlier
        next_b = *b;

#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // both tiles may be overwritten
    }
    C[row * n + column] = sum;
}
