// hpsee.tiled: tiles of A and B in shared memory.
//
// The strategy of many a CUDA program: cut the data into tiles that fit into shared memory, load one with
// many threads, compute from it, go on to the next, and write the result back once.
//
// C = A·B, all three n×n and row-major. Blocks of threads are TILE_WIDTH×TILE_WIDTH, one thread per
// element of C. For each step a 16×16 block makes 512 loads for 8192 multiplies and adds, a 32×32 block
// 2048 loads for 65536: the wider tile does twice as much with each element, and takes four times the
// shared memory, 8 KB instead of 2.
//
// n must be a multiple of TILE_WIDTH: there is no bounds test.

extern "C" __global__ void tiled(const float* A, const float* B, float* C, int n)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty;
    const int column = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int step = 0; step < n / TILE_WIDTH; ++step) {
        // The tiles move right in A and down in B. Each thread loads the element of either tile that
        // lies at its own place in the block; along tx these are neighbours in memory.
        tile_a[ty][tx] = A[row * n + step * TILE_WIDTH + tx];
        tile_b[ty][tx] = B[(step * TILE_WIDTH + ty) * n + column];
        __syncthreads();  // every element has arrived

        for (int p = 0; p < TILE_WIDTH; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();  // every element has been used, and may be overwritten
    }
    C[row * n + column] = sum;
}
