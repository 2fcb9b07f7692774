// lezione9.kernel2: kernel1 with 32×32 tiles of A and B in shared memory.
//
// C = C + A·B in double precision, with C m×n, A m×k and B k×n, row-major; m, n and k are multiples of
// 32 and arrive in the order m, k, n.
//
// Every thread fetches one element of A and one of B per step, and computes 32 products from what the
// block has fetched together: a 32nd of kernel1's global loads.
//
// x still runs along the rows, in the matrices and in the tiles. The fewer loads that remain are
// scattered, from B now as well as from A: threads next to each other fetch from different rows. And
// threads next to each other use tile elements that lie a row of 32 doubles apart, all of them in the
// same bank of shared memory: they are served one after the other.

constexpr int TILE = 32;

extern "C" __global__ void kernel2(const double* A, const double* B, double* C, int m, int k, int n)
{
    __shared__ double tile_a[TILE][TILE];
    __shared__ double tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockDim.x * blockIdx.x + tx;
    const int column = blockDim.y * blockIdx.y + ty;

    double sum = C[row * n + column];
    for (int step = 0; step < k / TILE; ++step) {
        // The first index of a tile is a row and belongs to x, in keeping with kernel1.
        tile_a[tx][ty] = A[row * k + step * TILE + ty];
        tile_b[tx][ty] = B[(step * TILE + tx) * n + column];
        __syncthreads();  // the other threads' elements have arrived

        // A warp has one ty and 32 values of tx: 32 rows of tile_a (conflict), one element of tile_b
        // (broadcast).
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[tx][p] * tile_b[p][ty];
        __syncthreads();  // the other threads are done with this step's tiles
    }
    C[row * n + column] = sum;
}
