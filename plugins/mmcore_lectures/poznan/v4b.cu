// poznan.v4b: v4a, with the next tiles kept in a second pair of shared arrays instead of registers.
//
// The idea is the same: ask for the next step's elements before computing the current one. But the way
// into shared memory leads through a register (this is not an asynchronous copy), and every element is
// then copied from one pair of arrays to the other. Twice v3's shared memory means that fewer blocks may
// fit on a multiprocessor.
//
// Like v4a, the last step asks for TILE columns right of A and TILE rows below B; the values are never
// used.
//
// C = A·B, all three n×n and row-major; n must be a multiple of TILE.

template <int TILE>
__global__ void v4b(float* C, const float* A, const float* B, int n)
{
    __shared__ float next_a[TILE][TILE];
    __shared__ float next_b[TILE][TILE];
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    // Pointers rather than int indexes: the step behind the last may lie beyond what an int can count.
    const float* a = A + row * n + tx;
    const float* b = B + ty * n + column;

    // A thread reads back only what it wrote itself to next_a and next_b, so they need no barrier of
    // their own.
    next_a[ty][tx] = *a;
    next_b[ty][tx] = *b;

    float sum = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile_a[ty][tx] = next_a[ty][tx];
        tile_b[ty][tx] = next_b[ty][tx];
        __syncthreads();  // both tiles are complete

        a += TILE;
        b += TILE * n;
        next_a[ty][tx] = *a;
        next_b[ty][tx] = *b;

#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // both tiles may be overwritten
    }
    C[row * n + column] = sum;
}
