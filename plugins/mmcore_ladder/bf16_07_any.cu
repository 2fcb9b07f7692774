// ladder.bf16.07_any: any size, any leading dimension, A and B by rows or by columns, and products with a small C.
//
// Rung 6 took whole tiles by rows. Here a copy fills up with zeros, which add nothing, what lies beyond a matrix. It
// has 16, 4 or 2 bytes, as the leading dimension allows; the launch rule picks the instance of the kernel. Tiles of a
// matrix by columns are taken as they lie in memory, and ldmatrix exchanges rows and columns where it must. If C has
// too few tiles for all multiprocessors, several blocks share one, each a part of k, and a second launch adds the
// parts.

#include "elements.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int STEPS = BK / 16;         // 16 of k are multiplied at once
constexpr int STAGE = (BM + BN) * BK;  // elements: a tile of A, and behind it one of B

static_assert(STEPS % 2 == 0, "fragments take turns in two sets of registers");
static_assert(BM * BN <= STAGES * STAGE, "C's tile fits into the stages");

// Copies a tile of ROWS rows of LENGTH elements, `BYTES` at a time: begins to, where BYTES are 4 or 16. From `from` on
// the matrix has `rows` more rows, `ld` elements apart, and `length` elements in each; the rest of the tile becomes
// zeros.
template <int ROWS, int LENGTH, int BYTES>
__device__ void fetch_tile(ELEMENT* tile, const ELEMENT* __restrict__ from, long long ld, int rows, int length)
{
    constexpr int UNIT = BYTES == 16 ? 8 : 2;  // elements that a thread brings at once
    constexpr int UNITS = LENGTH / UNIT;       // of a row
    constexpr int COPIES = ROWS * UNITS / THREADS;
    static_assert(COPIES * THREADS == ROWS * UNITS, "equal shares for all threads");

    // A thread's copies lie THREADS units apart: in the same place of rows further below.
    static_assert(THREADS % UNITS == 0, "the threads copy whole rows at once");
    constexpr int STRIDE = THREADS / UNITS;
    const int first = threadIdx.x / UNITS, x = threadIdx.x % UNITS * UNIT;
    const int there = min(max(length - x, 0), UNIT);
    const ELEMENT* source = from + first * ld + x;
    constexpr int AT_ONCE = BYTES == 16 ? COPIES : BYTES == 4 ? 8 : 4;  // what is under way takes registers
#pragma unroll AT_ONCE
    for (int i = 0; i < COPIES; ++i, source += STRIDE * ld) {
        const int row = first + i * STRIDE;
        // In every eighth row the chunks change places in the same way.
        ELEMENT* const to =
            tile + (STRIDE % 8 ? place<LENGTH>(row, x / 8) : place<LENGTH>(first, x / 8) + i * STRIDE * LENGTH) + x % 8;
        const int valid = row < rows ? there : 0;
        if (BYTES == 2) {
            // There are no copies of 2 bytes that go by themselves.
            ELEMENT pair[2] = {valid > 0 ? source[0] : ELEMENT(0.0f), valid > 1 ? source[1] : ELEMENT(0.0f)};
            *reinterpret_cast<unsigned*>(to) = reinterpret_cast<const unsigned&>(pair);
        } else {
            // Of 0 valid bytes none is read, wherever the address may lie.
            if (BYTES == 16)
                copy_async_16(shared_address(to), source, 2 * valid);
            else
                copy_async_4(shared_address(to), source, 2 * valid);
        }
    }
}

// A_BYTES, B_BYTES and C_BYTES are what a thread may load or store at once: 16, 4 or 2.
template <int A_BYTES, int B_BYTES, int C_BYTES>
__global__ void __launch_bounds__(THREADS)
any_size(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C,
         float* __restrict__ parts, int m, int n, int k, int lda, int ldb, int ldc)
{
    extern __shared__ __align__(128) ELEMENT stages[];  // more than 48 KB must be asked for at the launch

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;

    // Blocks along x are tiles of C: GROUP rows of tiles are a group, and in it one column follows the other.
    const int tiles_down = (m + BM - 1) / BM, tiles_across = (n + BN - 1) / BN;
    const int in_group = GROUP * tiles_across;
    const int top = blockIdx.x / in_group * GROUP;
    const int height = min(GROUP, tiles_down - top);
    const int first_row = (top + blockIdx.x % in_group % height) * BM;
    const int first_column = blockIdx.x % in_group / height * BN;

    // Blocks along y are parts of k, whole steps each.
    const int all_steps = (k + BK - 1) / BK;
    const int first_step = static_cast<long long>(all_steps) * blockIdx.y / gridDim.y;
    const int steps = static_cast<long long>(all_steps) * (blockIdx.y + 1) / gridDim.y - first_step;

    // From one step to the next, BK further along k.
    const long long a_step = A_BY_COLUMNS ? static_cast<long long>(BK) * lda : BK;
    const long long b_step = B_BY_COLUMNS ? BK : static_cast<long long>(BK) * ldb;
    const ELEMENT* a_from = A + first_step * a_step + first_row * (A_BY_COLUMNS ? 1ll : lda);
    const ELEMENT* b_from = B + first_step * b_step + first_column * (B_BY_COLUMNS ? ldb : 1ll);
    int left = k - first_step * BK;  // of k, from a_from and b_from on

    int fetched = 0;
    auto fetch = [&] {
        if (fetched < steps) {
            ELEMENT* const tile_a = stages + fetched % STAGES * STAGE;
            ELEMENT* const tile_b = tile_a + BM * BK;
            if (A_BY_COLUMNS)
                fetch_tile<BK, BM, A_BYTES>(tile_a, a_from, lda, left, m - first_row);
            else
                fetch_tile<BM, BK, A_BYTES>(tile_a, a_from, lda, m - first_row, left);
            if (B_BY_COLUMNS)
                fetch_tile<BN, BK, B_BYTES>(tile_b, b_from, ldb, n - first_column, left);
            else
                fetch_tile<BK, BN, B_BYTES>(tile_b, b_from, ldb, left, n - first_column);
            a_from += a_step;
            b_from += b_step;
            left -= BK;
        }
        end_group();
        ++fetched;
    };

    // The lanes give the rows of four 8×8 matrices: two lie below each other, and then two beside these, or the other
    // way round. a_at and b_at say where in a stage a lane's row lies, in bytes, for each of the chunks that it is in;
    // what lies a multiple of eight rows below is a constant further.
    const int below = lane % 16, beside = lane / 16;
    const int below_last = lane % 8 + lane / 16 * 8, beside_first = lane / 8 % 2;
    unsigned a_at[A_BY_COLUMNS ? WM / 16 : STEPS], b_at[B_BY_COLUMNS ? STEPS : WN / 16];
#pragma unroll
    for (int i = 0; i < sizeof a_at / 4; ++i)
        a_at[i] = 2 * (A_BY_COLUMNS ? place<BM>(below_last, warp_row / 8 + 2 * i + beside_first)
                                    : place<BK>(warp_row + below, 2 * i + beside));
#pragma unroll
    for (int i = 0; i < sizeof b_at / 4; ++i)
        b_at[i] = 2 * (BM * BK + (B_BY_COLUMNS ? place<BK>(warp_column + below_last, 2 * i + beside_first)
                                               : place<BN>(below, warp_column / 8 + 2 * i + beside)));

    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto load_fragments = [&](int set, unsigned stage, int q) {
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            if (A_BY_COLUMNS)
                load_matrices_transposed(a[set][i], stage + a_at[i] + 2 * 16 * q * BM);
            else
                load_matrices(a[set][i], stage + a_at[q] + 2 * 16 * i * BK);
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            if (B_BY_COLUMNS)
                load_matrices(b[set][j], stage + b_at[q] + 2 * 16 * j * BK);
            else
                load_matrices_transposed(b[set][j], stage + b_at[j] + 2 * 16 * q * BN);
    };

    float sum[WM / 16][WN / 8][4] = {};

    for (int i = 0; i < STAGES - 1; ++i)
        fetch();
    wait_groups<STAGES - 2>();
    __syncthreads();
    unsigned stage = shared_address(stages);
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
                    stage = shared_address(stages) + 2 * STAGE * ((step + 1) % STAGES);
            }
            load_fragments((q + 1) % 2, stage, (q + 1) % STEPS);
            if (q == 0)
                fetch();
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    const unsigned* const right = b[q % 2][j / 2] + j % 2 * 2;
                    multiply<ELEMENT>(sum[i][j], a[q % 2][i], right[0], right[1]);
                }
        }
    }

    const int rows = m - first_row, columns = n - first_column;  // of C, from this tile on
    if (gridDim.y > 1) {
        // A part is stored as it is, in float32. Its rows are rounded up to four elements.
        const int width = (n + 3) / 4 * 4;
        parts += (static_cast<long long>(blockIdx.y) * m + first_row) * width + first_column;
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
#pragma unroll
            for (int j = 0; j < WN / 8; ++j)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = warp_row + 16 * i + lane / 4 + 8 * half;
                    const int column = warp_column + 8 * j + lane % 4 * 2;
                    if (row < rows && first_column + column < width)
                        *reinterpret_cast<float2*>(parts + static_cast<long long>(row) * width + column) =
                            make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
                }
        return;
    }

    // The tile of C takes the stages' place, swizzled as they were.
    wait_groups<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            const int row = warp_row + 16 * i + lane / 4, chunk = (warp_column + 8 * j) / 8;
            ELEMENT* const upper = stages + place<BN>(row, chunk) + lane % 4 * 2;
            ELEMENT* const lower = stages + place<BN>(row + 8, chunk) + lane % 4 * 2;
            *reinterpret_cast<unsigned*>(upper) = pack<ELEMENT>(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<unsigned*>(lower) = pack<ELEMENT>(sum[i][j][2], sum[i][j][3]);
        }
    __syncthreads();
    C += static_cast<long long>(first_row) * ldc + first_column;
    constexpr int UNIT = C_BYTES == 16 ? 8 : 2;
#pragma unroll 4
    for (int i = threadIdx.x; i < BM * BN / UNIT; i += THREADS) {
        const int row = i / (BN / UNIT), x = i % (BN / UNIT) * UNIT;
        if (row >= rows || x >= columns)
            continue;
        const ELEMENT* const from = stages + place<BN>(row, x / 8) + x % 8;
        ELEMENT* const to = C + static_cast<long long>(row) * ldc + x;
        if (C_BYTES == 16 && x + UNIT <= columns)
            *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
        else if (C_BYTES == 4 && x + UNIT <= columns)
            *reinterpret_cast<unsigned*>(to) = *reinterpret_cast<const unsigned*>(from);
        else
            for (int e = 0; e < UNIT && x + e < columns; ++e)
                to[e] = from[e];
    }
}

// C is the sum of the parts, from the first to the last. A thread makes four neighbours.
template <int C_BYTES>
__global__ void __launch_bounds__(256)
add_parts(const float* __restrict__ parts, ELEMENT* __restrict__ C, int m, int n, int ldc, int count)
{
    const int quads = (n + 3) / 4;
    const long long number = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long all = static_cast<long long>(m) * quads;
    if (number >= all)
        return;
    const float4* from = reinterpret_cast<const float4*>(parts) + number;
    float4 sum = *from;
    for (int i = 1; i < count; ++i) {
        const float4 part = from[i * all];
        sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    const int x = static_cast<int>(number % quads) * 4;
    ELEMENT* const to = C + number / quads * ldc + x;
    const unsigned words[2] = {pack<ELEMENT>(sum.x, sum.y), pack<ELEMENT>(sum.z, sum.w)};
    if (C_BYTES == 16 && x + 4 <= n) {
        *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else {
        const ELEMENT* const elements = reinterpret_cast<const ELEMENT*>(words);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            if (x + e < n)
                to[e] = elements[e];
    }
}
