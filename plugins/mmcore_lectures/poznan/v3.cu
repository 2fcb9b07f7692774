// poznan.v3: v2 with tiles of A and B in shared memory. C = A·B, all three n×n and row-major.
//
// The block walks along its strip of A and down its strip of B, one TILE×TILE tile of each per step.
// Each thread fetches one element of either tile; TILE threads then use it. The tile's edge is a
// template parameter, so the inner loop has a fixed length and can be unrolled: no counter, no branch,
// shared-memory addresses known in advance.
//
// n must be a multiple of TILE: there is no bounds test.

template <int TILE>
__global__ void v3(float* C, const float* A, const float* B, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    // This thread's element of either tile. It moves TILE columns in A and TILE rows in B with every
    // step; within a row of threads, tx makes neighbours of both.
    const float* a = A + row * n + tx;
    const float* b = B + ty * n + column;

    float sum = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile_a[ty][tx] = *a;
        tile_b[ty][tx] = *b;
        __syncthreads();  // both tiles are complete

#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // both tiles may be overwritten

        a += TILE;
        b += TILE * n;
    }
    C[row * n + column] = sum;
}
