// ladder.f32.05_register_tile: each thread computes a rectangle of C, TM rows by TN columns.
//
// 04_column_of_registers still makes more than one load from shared memory for each multiply-add, since only B's
// element is used more than once. Here a thread loads TM elements of A and TN of B, and multiplies each with each:
// TM + TN loads for TM·TN multiply-adds, 16 for 64 at 8×8.
//
// m, n and k are multiples of BM, BN and BK.

constexpr int ROWS = BM / TM;     // of threads
constexpr int COLUMNS = BN / TN;  // of threads
constexpr int THREADS = ROWS * COLUMNS;
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "each thread fetches as much as the others");

extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS)
register_tile(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[BM][BK];
    __shared__ float tile_b[BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned tx = thread % COLUMNS;
    const unsigned ty = thread / COLUMNS;

    A += size_t(blockIdx.y) * BM * k;
    B += size_t(blockIdx.x) * BN;

    float sum[TM][TN] = {};
    for (int step = 0; step < k / BK; ++step) {
        for (int i = 0; i < BM * BK; i += THREADS) {
            const unsigned row = (i + thread) / BK, column = (i + thread) % BK;
            tile_a[row][column] = A[size_t(row) * k + column];
        }
        for (int i = 0; i < BK * BN; i += THREADS) {
            const unsigned row = (i + thread) / BN, column = (i + thread) % BN;
            tile_b[row][column] = B[size_t(row) * n + column];
        }
        __syncthreads();

        // Four steps at a time: with more, so much is loaded ahead that 128 registers, of two blocks, are too few.
#pragma unroll 4
        for (int p = 0; p < BK; ++p) {
            // A thread's rows are ROWS apart and its columns COLUMNS apart. Neighbouring threads have neighbouring
            // columns then, which lie in different banks, and their stores to C are coalesced. With TN columns side by
            // side, threads would read TN words apart: a conflict.
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i)
                a[i] = tile_a[i * ROWS + ty][p];
#pragma unroll
            for (int j = 0; j < TN; ++j)
                b[j] = tile_b[p][j * COLUMNS + tx];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
        A += BK;
        B += size_t(BK) * n;
    }

    C += size_t(blockIdx.y) * BM * n + size_t(blockIdx.x) * BN;
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
            C[size_t(i * ROWS + ty) * n + j * COLUMNS + tx] = sum[i][j];
}
