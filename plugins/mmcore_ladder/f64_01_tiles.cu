// ladder.f64.01_tiles: ladder.f32.05_register_tile in double precision, on CUDA cores.
//
// A multiprocessor makes half as many multiply-adds of doubles as of floats, and a double takes two registers and two
// banks of shared memory: everything costs twice as much, and what a thread should have in registers is the same. TM×TN
// elements of C for TM + TN loads; a block's tile is half as large, since a thread has 128 registers of sums.
//
// m, n and k are multiples of BM, BN and BK.

constexpr int ROWS = BM / TM;     // of threads
constexpr int COLUMNS = BN / TN;  // of threads
constexpr int THREADS = ROWS * COLUMNS;
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0, "each thread fetches as much as the others");

extern "C" __global__ void __launch_bounds__(THREADS, 256 / THREADS)
tiles(const double* A, const double* B, double* C, int m, int n, int k)
{
    __shared__ double tile_a[BM][BK];
    __shared__ double tile_b[BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned tx = thread % COLUMNS;
    const unsigned ty = thread / COLUMNS;

    A += size_t(blockIdx.y) * BM * k;
    B += size_t(blockIdx.x) * BN;

    double sum[TM][TN] = {};
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

        // A thread's rows are ROWS apart, and its columns COLUMNS, so that neighbours read from different banks. Four
        // steps are unrolled: with more, so much is loaded ahead that the registers are too few.
#pragma unroll 4
        for (int p = 0; p < BK; ++p) {
            double a[TM], b[TN];
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
