// ladder.f32.04_column_of_registers: each thread computes TM elements of a column of C.
//
// 03_tiles makes two loads from shared memory for every multiply-add, and shared memory is what limits it. Here a
// thread has the sums of TM rows in registers. It loads an element of B once and uses it TM times: TM + 1 loads for
// TM multiply-adds. The block's tile of C grows with it, to BM×BN, and each element of A and B is fetched less
// often.
//
// m, n and k are multiples of BM, BN and BK.

constexpr int THREADS = BM / TM * BN;
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "each thread fetches as much as the others");

extern "C" __global__ void __launch_bounds__(THREADS)
column_of_registers(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned tx = thread % BN;  // the thread's column in the tile of C
    const unsigned ty = thread / BN;  // its rows are ty·TM to ty·TM + TM - 1

    // From here on the pointers are to the block's own rows of A, columns of B and tile of C.
    A += size_t(blockIdx.y) * BM * k;
    B += size_t(blockIdx.x) * BN;
    C += size_t(blockIdx.y) * BM * n + size_t(blockIdx.x) * BN;

    float sum[TM] = {};
    for (int step = 0; step < k / BK; ++step) {
        // The tiles may have more elements than the block has threads: each thread fetches every THREADS-th one.
        for (int i = 0; i < BM * BK; i += THREADS) {
            const unsigned row = (i + thread) / BK, column = (i + thread) % BK;
            tile_a[row][column] = A[size_t(row) * k + column];
        }
        for (int i = 0; i < BK * BN; i += THREADS) {
            const unsigned row = (i + thread) / BN, column = (i + thread) % BN;
            tile_b[row][column] = B[size_t(row) * n + column];
        }
        __syncthreads();

#pragma unroll
        for (int p = 0; p < BK; ++p) {
            const float b = tile_b[p][tx];
            // Unrolled, so that sum[i] is a register: an index that is known only at run time would put the sums into
            // local memory.
#pragma unroll
            for (int i = 0; i < TM; ++i)
                sum[i] += tile_a[ty * TM + i][p] * b;
        }
        __syncthreads();
        A += BK;
        B += size_t(BK) * n;
    }

#pragma unroll
    for (int i = 0; i < TM; ++i)
        C[size_t(ty * TM + i) * n + tx] = sum[i];
}
