// upc.kernel11_naive_guard: kernel10 inside kernel01's bounds test. It looks right and is not.
//
// C = A·B with C m×n, A m×k and B k×n, row-major; tiles and blocks of threads are TILE×TILE. Two
// mistakes, which stay hidden as long as m, n and k are multiples of TILE:
//
// 1. The barriers stand inside the test. Where a block hangs over the edge of C, some of its threads
//    never reach them, which is undefined; and those threads would have had elements of the tiles to
//    load for the others.
// 2. k / TILE rounds down. The last k % TILE products of every element are left out.

extern "C" __global__ void kernel11_naive_guard(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    if (row < m && column < n) {  // mistake 1: from here on, threads of one block may go separate ways
        float sum = 0.0f;
        for (int step = 0; step < k / TILE; ++step) {  // mistake 2: no step for the remainder
            tile_a[ty][tx] = A[row * k + step * TILE + tx];
            tile_b[ty][tx] = B[(step * TILE + ty) * n + column];
            __syncthreads();

            for (int p = 0; p < TILE; ++p)
                sum += tile_a[ty][p] * tile_b[p][tx];
            __syncthreads();
        }
        C[row * n + column] = sum;
    }
}
