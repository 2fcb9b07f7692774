// ladder.tf32.01_mma_sync: float32 matrices on tensor cores, which use the upper 19 bits of each element; any size.
//
// The loop is that of ladder.bf16.06_multistage, with elements of 32 bits. ldmatrix loads A's fragments, since four
// elements of a row have the 16 bytes that eight of 16 bits had. It cannot transpose elements of 32 bits, so that B's
// are loaded one by one; B's tile is swizzled for that, in another way than A's.

#include "mma.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int STEPS = BK / 8;          // 8 of k are multiplied at once
constexpr int STAGE = (BM + BN) * BK;  // elements: a tile of A, and behind it one of B

static_assert(STEPS % 2 == 0, "fragments take turns in two sets of registers");
static_assert(WN % 32 == 0 && BK == 32 && BN % 32 == 0, "rows have all banks, or several times all");

// Where an element lies in the tile of A. ldmatrix reads 16 bytes of each of eight rows at once: their chunks of four
// elements change places in eight ways.
__device__ inline int place_a(int row, int x)
{
    return row * BK + (x / 4 ^ row % 8) * 4 + x % 4;
}

// Where one lies in the tile of B. A warp reads eight neighbours of each of four rows at once: pairs of chunks change
// places in four ways.
__device__ inline int place_b(int row, int x)
{
    return row * BN + (x / 4 ^ row % 4 * 2) * 4 + x % 4;
}

// sum += a·b on a tensor core, by a whole warp: a is 16×8, b 8×8, sum 16×8, held as by ladder.bf16.03_mma_sync.
__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Begins to copy a tile of ROWS rows of LENGTH elements, BYTES at a time. From `from` on the matrix has `rows` more
// rows, `ld` elements apart, and `length` elements in each; the rest of the tile becomes zeros.
template <int ROWS, int LENGTH, int BYTES, int (*PLACE)(int, int)>
__device__ void fetch_tile(float* tile, const float* __restrict__ from, long long ld, int rows, int length)
{
    constexpr int UNIT = BYTES / 4;          // elements that a thread copies at once
    constexpr int UNITS = LENGTH / UNIT;     // of a row
    constexpr int STRIDE = THREADS / UNITS;  // rows that the threads copy at once
    static_assert(THREADS % UNITS == 0 && ROWS % STRIDE == 0, "equal shares for all threads");

    const int first = threadIdx.x / UNITS, x = threadIdx.x % UNITS * UNIT;
    const int there = min(max(length - x, 0), UNIT);
    const float* source = from + first * ld + x;
    constexpr int AT_ONCE = BYTES == 16 ? ROWS / STRIDE : 8;  // what is under way takes registers
#pragma unroll AT_ONCE
    for (int i = 0; i < ROWS / STRIDE; ++i, source += STRIDE * ld) {
        const int row = first + i * STRIDE;
        const unsigned to = shared_address(tile + PLACE(row, x));
        const int valid = row < rows ? there : 0;
        // Of 0 valid bytes none is read, wherever the address may lie.
        if (BYTES == 16)
            copy_async_16(to, source, 4 * valid);
        else
            copy_async_4(to, source, 4 * valid);
    }
}

// A_BYTES, B_BYTES and C_BYTES are what a thread may load or store at once: 16 or 4, of C 8 or 4.
template <int A_BYTES, int B_BYTES, int C_BYTES>
__global__ void __launch_bounds__(THREADS)
mma_sync(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int m, int n, int k, int lda,
         int ldb, int ldc)
{
    extern __shared__ __align__(128) float stages[];

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;

    // GROUP rows of tiles are a group, and in it one column follows the other.
    const int tiles_down = (m + BM - 1) / BM, tiles_across = (n + BN - 1) / BN;
    const int in_group = GROUP * tiles_across;
    const int top = blockIdx.x / in_group * GROUP;
    const int height = min(GROUP, tiles_down - top);
    const int first_row = (top + blockIdx.x % in_group % height) * BM;
    const int first_column = blockIdx.x % in_group / height * BN;

    const float* a_from = A + static_cast<long long>(first_row) * lda;
    const float* b_from = B + first_column;
    const int steps = (k + BK - 1) / BK;
    int fetched = 0;
    auto fetch = [&] {
        if (fetched < steps) {
            float* const tile_a = stages + fetched % STAGES * STAGE;
            const int left = k - fetched * BK;
            fetch_tile<BM, BK, A_BYTES, place_a>(tile_a, a_from, lda, m - first_row, left);
            fetch_tile<BK, BN, B_BYTES, place_b>(tile_a + BM * BK, b_from, ldb, left, n - first_column);
            a_from += BK;
            b_from += static_cast<long long>(BK) * ldb;
        }
        end_group();
        ++fetched;
    };

    // Where a lane's fragments begin: of A for every 8 of k, of B for every 8 columns. 16 rows of A further, and 4 rows
    // or 32 columns of B further, elements change places in the same way.
    int a_at[STEPS], b_at[4];
#pragma unroll
    for (int i = 0; i < STEPS; ++i)
        a_at[i] = place_a(warp_row + lane % 16, 8 * i + lane / 16 * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        b_at[i] = BM * BK + place_b(lane % 4, warp_column + 8 * i + lane / 4);

    unsigned a[2][WM / 16][4], b[2][WN / 8][2];
    auto load_fragments = [&](int set, const float* stage, int q) {
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            load_matrices(a[set][i], shared_address(stage + a_at[q] + 16 * i * BK));
        // Of B a lane has rows lane % 4 and the fourth below it, of column lane / 4.
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                b[set][j][half] = __float_as_uint(stage[b_at[j % 4] + j / 4 * 32 + (8 * q + 4 * half) * BN]);
    };

    float sum[WM / 16][WN / 8][4] = {};

    for (int i = 0; i < STAGES - 1; ++i)
        fetch();
    wait_groups<STAGES - 2>();
    __syncthreads();
    const float* stage = stages;
    load_fragments(0, stage, 0);

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int q = 0; q < STEPS; ++q) {
            if (q == STEPS - 1) {
                // The next stage has landed, and this one is free. There is none after the last step: what is loaded
                // then is not used.
                wait_groups<STAGES - 2>();
                __syncthreads();
                if (step + 1 < steps)
                    stage = stages + (step + 1) % STAGES * STAGE;
            }
            load_fragments((q + 1) % 2, stage, (q + 1) % STEPS);
            if (q == 0)
                fetch();
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    multiply(sum[i][j], a[q % 2][i], b[q % 2][j]);
        }
    }

    // Four lanes have 32 bytes of a row, a sector.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first_row + warp_row + 16 * i + lane / 4 + 8 * half;
            if (row >= m)
                continue;
            float* const to = C + static_cast<long long>(row) * ldc;
#pragma unroll
            for (int j = 0; j < WN / 8; ++j) {
                const int column = first_column + warp_column + 8 * j + lane % 4 * 2;
                const float left = sum[i][j][2 * half], right = sum[i][j][2 * half + 1];
                if (C_BYTES == 8 && column + 1 < n) {
                    *reinterpret_cast<float2*>(to + column) = make_float2(left, right);
                } else {
                    if (column < n)
                        to[column] = left;
                    if (column + 1 < n)
                        to[column + 1] = right;
                }
            }
        }
}
