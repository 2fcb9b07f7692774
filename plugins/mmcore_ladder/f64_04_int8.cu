// ladder.f64.04_int8: float64 products by the tensor cores that multiply bytes, which are 30 times as fast as those that
// multiply doubles.
//
// squares sums up the squares of each row of A and column of B, residues makes integers of them and their residues
// modulo MODULI numbers, products multiplies these, one product after another, and combine makes doubles of the residues
// of the sums. A line with many small numbers would lose too much by rounding to integers: then the CUDA cores make
// the product.

#define WGMMA_FORM "k32.s32.s8.s8"
#define WGMMA_INTEGERS

#include "hopper.cuh"
#include "launches.cuh"
#include "wgmma.cuh"
#include "residues.cuh"

constexpr int BK = 128, WM = BM / CONSUMERS, ROWS = WM / 64;
constexpr int A_BYTES = BM * BK, B_BYTES = BN * BK, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BOX_BYTES = 64 * 128;  // of residues of C
constexpr int LINES = 64, DEPTH = 64;  // of a matrix, that a block of `residues` has
constexpr int NEAR = 4;                // numbers that are as large as their line's mean, apart from this factor

// A or B: `lines` of length k. Neighbours in memory are of neighbouring lines (by_columns), or of one.
struct Matrix {
    const double* elements;
    int lines, k;
    bool by_columns;
    long long leading;

    __device__ double at(int line, int p) const
    {
        if (line >= lines || p >= k)
            return 0;
        return elements[by_columns ? p * leading + line : line * leading + p];
    }
};

// The square of a number, which is 0 for zero alone.
__device__ double square(double number) { return fma(number, number, number != 0 ? 1e-300 : 0); }

// The sums of squares of 32 lines in a slice of k: blocks of A's lines come first. `sums` has gridDim.y rows.
extern "C" __global__ void __launch_bounds__(256)
squares(const double* A, const double* B, double* sums, int* near, int m, int n, int k, int a_by_columns,
        int b_by_columns, long long lda, long long ldb)
{
    __shared__ double partial[32][33];
    wait_for_last_launch();
    let_next_begin();
    const int blocks_a = (m + 31) / 32;
    const bool is_a = blockIdx.x < blocks_a;
    const Matrix matrix = is_a ? Matrix{A, m, k, a_by_columns != 0, lda} : Matrix{B, n, k, b_by_columns != 0, ldb};
    const int first = (is_a ? blockIdx.x : blockIdx.x - blocks_a) * 32, behind = is_a ? 0 : m;
    const int depth = (k + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * depth, end = min(k, begin + depth);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (matrix.by_columns) {
        double sum = 0;
        for (int p = begin + warp; p < end; p += 8) {
            sum += square(matrix.at(first + lane, p));
        }
        partial[warp][lane] = sum;
    } else {
        for (int i = warp; i < 32; i += 8) {
            double sum = 0;
            for (int p = begin + lane; p < end; p += 32) {
                sum += square(matrix.at(first + i, p));
            }
            partial[lane][i] = sum;
        }
    }
    __syncthreads();
    if (warp == 0 && first + lane < matrix.lines) {
        double sum = 0;
        for (int i = 0; i < (matrix.by_columns ? 8 : 32); ++i)
            sum += partial[i][lane];
        sums[static_cast<long long>(blockIdx.y) * (m + n) + behind + first + lane] = sum;
        if (blockIdx.y == 0)
            near[behind + first + lane] = 0;
    }
}

// The residues of LINES lines in DEPTH elements along k, those of one modulus after another; `scales` gets each line's
// exponent and `near` the number of its elements that are not small.
extern "C" __global__ void __launch_bounds__(256)
residues(const double* A, const double* B, const double* sums, int slices, int* scales, int* near, signed char* of_a,
         signed char* of_b, int m, int n, int k, int a_by_columns, int b_by_columns, long long lda, long long ldb,
         long long packed)
{
    __shared__ double tile[DEPTH][LINES + 1];
    __shared__ double factors[LINES], least[LINES];
    wait_for_last_launch();
    let_next_begin();
    const int blocks_a = (m + LINES - 1) / LINES;
    const bool is_a = blockIdx.x < blocks_a;
    const Matrix matrix = is_a ? Matrix{A, m, k, a_by_columns != 0, lda} : Matrix{B, n, k, b_by_columns != 0, ldb};
    const int first = (is_a ? blockIdx.x : blockIdx.x - blocks_a) * LINES, behind = is_a ? 0 : m;
    const int thread = threadIdx.x, start = blockIdx.y * DEPTH;
    if (thread < LINES)
        factors[thread] = least[thread] = 0;
    if (thread < LINES && first + thread < matrix.lines) {
        double sum = 0;
        for (int slice = 0; slice < slices; ++slice)
            sum += sums[static_cast<long long>(slice) * (m + n) + behind + first + thread];
        const int scale = scale_of(sum);
        const double factor = scale == NOT_SCALED ? 0 : power_of_two(scale);
        factors[thread] = factor;
        least[thread] = scale == NOT_SCALED ? HUGE_VAL : sqrt(sum / k) * factor / NEAR;
        if (blockIdx.y == 0)
            scales[behind + first + thread] = scale;
    }
    if (matrix.by_columns)
        for (int i = thread; i < DEPTH * LINES; i += 256)
            tile[i / LINES][i % LINES] = matrix.at(first + i % LINES, start + i / LINES);
    __syncthreads();

    const int p = thread % 16 * 4;
    signed char* const to = is_a ? of_a : of_b;
    for (int line = thread / 16; line < LINES; line += 16) {
        double integers[4];
        int count = 0;
        for (int i = 0; i < 4; ++i) {
            const double number = matrix.by_columns ? tile[p + i][line] : matrix.at(first + line, start + p + i);
            integers[i] = rint(number * factors[line]);
            count += start + p + i < k && fabs(integers[i]) >= least[line];
        }
        for (int lanes = 8; lanes > 0; lanes /= 2)
            count += __shfl_down_sync(~0u, count, lanes, 16);
        const bool there = first + line < matrix.lines;
        if (thread % 16 == 0 && there)
            atomicAdd(near + behind + first + line, count);
        if (there && start + p < packed)
#pragma unroll 2
            for (int l = 0; l < MODULI; ++l) {
                unsigned word = 0;
                for (int i = 0; i < 4; ++i)
                    word |= (residue(integers[i], l) & 255u) << 8 * i;
                *reinterpret_cast<unsigned*>(to + (static_cast<long long>(l) * matrix.lines + first + line) * packed +
                                             start + p) = word;
            }
    }
}

// Whether a line has too many small numbers, or one that has no scale; `lines` is 0 where the sums are too short.
// All threads of a block ask.
__device__ bool any_doubt(const int* near, int lines, int k)
{
    int doubt = lines == 0;
    for (int i = threadIdx.x; i < lines; i += blockDim.x)
        doubt |= 4ll * near[i] < 3ll * k;
    return __syncthreads_or(doubt);
}

struct Tile {
    int row, column, modulus;
};

// The tiles of one modulus follow those of another. GROUP rows of tiles follow each other column by column.
__device__ Tile tile_of(int index, int m, int n)
{
    const int down = (m + BM * CLUSTER - 1) / (BM * CLUSTER), across = (n + BN - 1) / BN, within = index % (down * across);
    const int above = within / (GROUP * across) * GROUP, rest = within % (GROUP * across);
    const int rows = min(GROUP, down - above), rank = CLUSTER > 1 ? rank_in_cluster() : 0;
    return {((above + rest % rows) * CLUSTER + rank) * BM, rest / rows * BN, index / (down * across)};
}

enum Group { EVERYONE, CONSUMER };  // barriers' numbers

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
products(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c,
         const int* near, int lines, int m, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char* const boxes = memory + STAGES * STAGE_BYTES;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * 2 * BOX_BYTES);
    Barrier* const empty = full + STAGES;
    if (threadIdx.x < STAGES) {
        make_barrier(full + threadIdx.x, 1);
        make_barrier(empty + threadIdx.x, CONSUMERS * CLUSTER);
        publish_barriers();
    }
    __syncwarp();
    wait_for_last_launch();
    let_next_begin();
    if (any_doubt(near, lines, k))
        return;
    if (CLUSTER > 1)
        cluster_barrier();
    else
        __syncthreads();

    const int first = blockIdx.x / CLUSTER, blocks = gridDim.x / CLUSTER, steps = (k + BK - 1) / BK;
    const int count = (m + BM * CLUSTER - 1) / (BM * CLUSTER) * ((n + BN - 1) / BN) * MODULI;
    int stage = 0, phase = 0;  // of the ring of stages
    if (threadIdx.x < 128) {
        if (CONSUMERS == 2)
            give_registers<40>();
        if (threadIdx.x == 0)
            for (int index = first; index < count; index += blocks) {
                const Tile tile = tile_of(index, m, n);
                for (int step = 0; step < steps; ++step) {
                    wait(empty + stage, phase ^ 1);
                    expect(full + stage, STAGE_BYTES);
                    unsigned char* const a = memory + stage * STAGE_BYTES;
                    fetch(a, &map_a, step * BK, tile.row, tile.modulus, full + stage);
                    // The blocks of a cluster need the same tile of B: each fetches its share for all.
                    const int share = CLUSTER > 1 ? rank_in_cluster() * (BN / CLUSTER) : 0;
                    unsigned char* const b = a + A_BYTES + share * BK;
                    if (CLUSTER > 1)
                        fetch_for((1 << CLUSTER) - 1, b, &map_b, step * BK, tile.column + share, tile.modulus,
                                  full + stage);
                    else
                        fetch(b, &map_b, step * BK, tile.column, tile.modulus, full + stage);
                    phase ^= ++stage == STAGES;
                    stage %= STAGES;
                }
            }
        __syncwarp();
    } else {
        if (CONSUMERS == 2)
            take_registers<232>();
        // From a warp's first thread, so that the compiler knows that it is the same for all.
        const int consumer = __shfl_sync(~0u, threadIdx.x / 128 - 1, 0), thread = threadIdx.x % 128, lane = thread % 32;
        int sum[ROWS][BN / 2], box = 0;
        for (int index = first; index < count; index += blocks) {
            const Tile tile = tile_of(index, m, n);
            Barrier* before = nullptr;  // of the step before, whose stage products may still read
            for (int step = 0; step < steps; ++step) {
                wait(full + stage, phase);
                const unsigned a = shared_address(memory + stage * STAGE_BYTES) + consumer * WM * BK;
                const unsigned b = shared_address(memory + stage * STAGE_BYTES + A_BYTES);
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    begin_products();
#pragma unroll
                    for (int i = 0; i < BK; i += 32)
                        multiply<0, 0>(sum[r], moved(rows_along_k<BK>(a), r * 64 * BK + i), moved(rows_along_k<BK>(b), i),
                                       step > 0 || i > 0);
                    commit_products();
                }
                wait_for_products<ROWS>();
                if (before)
                    let_go<CLUSTER>(before);
                before = empty + stage;
                phase ^= ++stage == STAGES;
                stage %= STAGES;
            }
            wait_for_products<0>();
            let_go<CLUSTER>(before);

            const int p = NUMBERS.integer[tile.modulus], reciprocal = NUMBERS.reciprocal[tile.modulus];
            const int y = thread / 32 * 16 + lane / 4;
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int j = 0; j < BN; j += 128, box ^= 1) {
                    unsigned char* const to = boxes + (consumer * 2 + box) * BOX_BYTES;
                    if (thread == 0)
                        stores_have_read<1>();
                    group_barrier(CONSUMER + consumer, 128);
                    // Swizzled as TMA expects it.
#pragma unroll
                    for (int i = 0; i < (BN < 128 ? BN : 128) / 2; i += 2) {
                        const int row = y + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2;
                        const int low = residue(sum[r][j / 2 + i], p, reciprocal);
                        const int high = residue(sum[r][j / 2 + i + 1], p, reciprocal);
                        *reinterpret_cast<unsigned short*>(to + row * 128 + (x ^ row % 8 * 16)) =
                            (low & 255) | (high & 255) << 8;
                    }
                    publish_to_copies();
                    group_barrier(CONSUMER + consumer, 128);
                    if (thread == 0)
                        store(&map_c, to, tile.column + j, tile.row + consumer * WM + r * 64, tile.modulus);
                }
        }
        if (thread == 0)
            stores_have_read<0>();
    }
    // Nobody leaves while another block of the cluster may still arrive at its barriers.
    if (CLUSTER > 1)
        cluster_barrier();
}

// The product in float64 by the CUDA cores: of each block 256 threads, with 4×4 elements of C each.
__device__ void without_residues(const Matrix& a, const Matrix& b, double* C, long long down, long long across)
{
    __shared__ double tile_a[16][65], tile_b[16][65];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int tiles_across = (b.lines + 63) / 64, tiles = (a.lines + 63) / 64 * tiles_across;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int top = tile / tiles_across * 64, left = tile % tiles_across * 64;
        double sum[4][4] = {};
        for (int start = 0; start < a.k; start += 16) {
            for (int i = threadIdx.x; i < 1024; i += 256) {
                const int line_a = a.by_columns ? i % 64 : i / 16, p_a = a.by_columns ? i / 64 : i % 16;
                const int line_b = b.by_columns ? i % 64 : i / 16, p_b = b.by_columns ? i / 64 : i % 16;
                tile_a[p_a][line_a] = a.at(top + line_a, start + p_a);
                tile_b[p_b][line_b] = b.at(left + line_b, start + p_b);
            }
            __syncthreads();
            for (int p = 0; p < 16; ++p)
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < 4; ++j)
                        sum[i][j] = fma(tile_a[p][ty + 16 * i], tile_b[p][tx + 16 * j], sum[i][j]);
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                if (top + ty + 16 * i < a.lines && left + tx + 16 * j < b.lines)
                    C[(top + ty + 16 * i) * down + (left + tx + 16 * j) * across] = sum[i][j];
    }
}

// Makes doubles of the residues of the sums. A thread has four neighbours of a row.
extern "C" __global__ void __launch_bounds__(256)
combine(const signed char* sums, const int* scales, const int* near, int lines, const double* A, const double* B,
        double* C, int m, int n, int k, int a_by_columns, int b_by_columns, long long lda, long long ldb, long long down,
        long long across, long long packed)
{
    wait_for_last_launch();
    let_next_begin();
    if (any_doubt(near, lines, k)) {
        without_residues(Matrix{A, m, k, a_by_columns != 0, lda}, Matrix{B, n, k, b_by_columns != 0, ldb}, C, down,
                         across);
        return;
    }
    const long long quads = packed / 4, plane = m * packed;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < m * quads; i += gridDim.x * 256ll) {
        const int row = i / quads, column = i % quads * 4;
        char4 bytes[MODULI];
#pragma unroll
        for (int l = 0; l < MODULI; ++l)
            bytes[l] = *reinterpret_cast<const char4*>(sums + l * plane + row * packed + column);
        const double down_scale = power_of_two(-scales[row]);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (column + j >= n)
                break;
            int own[MODULI];
#pragma unroll
            for (int l = 0; l < MODULI; ++l)
                own[l] = j == 0 ? bytes[l].x : j == 1 ? bytes[l].y : j == 2 ? bytes[l].z : bytes[l].w;
            C[row * down + (column + j) * across] = combined(own) * down_scale * power_of_two(-scales[m + column + j]);
        }
    }
}
