// ladder.bf16.01_tiles: the lectures' tiled kernel, with elements of 16 bits.
//
// A thread computes one element of C from tiles in shared memory, and a tile is fetched once for the whole block. A and
// B take half the bytes that they take in float32. Sums are kept in float32, since a bfloat16 has 8 significant bits
// only; elements are made float32 when they are put into the tiles, once each instead of TILE times.

#include "elements.cuh"

__global__ void __launch_bounds__(TILE * TILE)
tiles(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        // Beyond the matrices the tiles hold zeros, which add nothing to a sum.
        const bool in_a = row < m && start + tx < k;
        const bool in_b = start + ty < k && column < n;
        tile_a[ty][tx] = in_a ? static_cast<float>(A[row * k + start + tx]) : 0.0f;
        tile_b[ty][tx] = in_b ? static_cast<float>(B[(start + ty) * n + column]) : 0.0f;
        __syncthreads();  // all of both tiles is there

#pragma unroll
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // nobody reads them any more
    }

    if (row < m && column < n)
        C[row * n + column] = static_cast<ELEMENT>(sum);
}
