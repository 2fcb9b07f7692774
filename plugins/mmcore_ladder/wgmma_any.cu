// The product of matrices in any layout on Hopper's tensor cores: as many blocks as there are multiprocessors, each
// with one thread that fetches tiles by TMA and CONSUMERS warpgroups that multiply them, tile after tile of C.
//
// Each operand may be a sum of PARTS matrices: A = A0 + A1 + A2 of 16-bit elements holds what float32 holds. The
// products of parts that matter are then added from the smallest to the largest (PARTS = 2: A1·B0, A0·B1, A0·B0).
//
// A tensor core cuts off what lies below the last bit of a sum. PROMOTED sums go no further than one step along k
// there, and are added up by the CUDA cores, which round.
//
// Where C has few tiles, the blocks of a cluster share one, each with a part of k, and add their sums up together.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "hopper.cuh"
#include "launches.cuh"
#include "wgmma.cuh"
#if PARTS > 1
#include "split.cuh"
#endif

constexpr int BK = DEPTH_BYTES / sizeof(ELEMENT);  // extent of a tile along k
constexpr int WM = BM / CONSUMERS, ROWS = WM / 64; // rows of a consumer, in blocks of 64
constexpr int A_BYTES = BM * DEPTH_BYTES, B_BYTES = BN * DEPTH_BYTES, STAGE_BYTES = PARTS * (A_BYTES + B_BYTES);
constexpr int STEP = 32 / sizeof(ELEMENT);         // extent of one instruction along k
constexpr int BOX_COLUMNS = 128 / sizeof(OUTPUT);  // of a box of 64 rows of C that TMA stores
constexpr int BOX_BYTES = 64 * 128;
constexpr int WIDTH = BN < BOX_COLUMNS ? BN : BOX_COLUMNS;  // columns of a box that there are
constexpr int PITCH = BN + 8;                      // of a tile's sums in shared memory: four rows in different banks

// Whether the tensor cores make a step's products while the CUDA cores add up the last one's, for which there have to
// be registers. A step of operands in parts is long, and slower so.
constexpr int OVERLAP = PARTS == 1 && (ROWS + 2) * BN / 2 <= 192;
// Steps of a turn of the loop, whose products have registers of their own. (Of a single step ptxas sees no order in the
// products of two blocks of rows, and waits for each instruction.)
constexpr int TURNS = OVERLAP ? 2 : 1;

constexpr int AT_ONCE = 4;                         // words that a thread packs

enum Where { DIRECTLY, BY_COPIES, TOGETHER };  // how sums get to global memory
enum Group { EVERYONE, CONSUMER, ALL_CONSUMERS = CONSUMER + CONSUMERS };  // barriers' numbers

// One tile of C and the part of k that is summed.
struct Work {
    int row, column, first, last;
};

// Tiles of GROUP rows of tiles follow each other column by column, so that those under way share rows and columns in
// L2.
template <int SHARING>
__device__ Work work(int tile, int m, int n, int k, int splits)
{
    const int down = (m + BM * SHARING - 1) / (BM * SHARING), across = (n + BN - 1) / BN, steps = (k + BK - 1) / BK;
    const int above = tile / (GROUP * across) * GROUP, within = tile % (GROUP * across);
    const int rows = min(GROUP, down - above), rank = SHARING > 1 || splits > 1 ? rank_in_cluster() : 0;
    Work work;
    work.row = ((above + within % rows) * SHARING + rank % SHARING) * BM;
    work.column = within / rows * BN;
    work.first = static_cast<long long>(steps) * (rank / SHARING) / splits;
    work.last = static_cast<long long>(steps) * (rank / SHARING + 1) / splits;
    return work;
}

__device__ float as_output(float sum, float*) { return sum; }
__device__ __half as_output(float sum, __half*) { return __float2half_rn(sum); }
__device__ __nv_bfloat16 as_output(float sum, __nv_bfloat16*) { return __float2bfloat16_rn(sum); }

__device__ unsigned pair(float low, float high, __half*)
{
    const __half2 both = __floats2half2_rn(low, high);
    return reinterpret_cast<const unsigned&>(both);
}

__device__ unsigned pair(float low, float high, __nv_bfloat16*)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const unsigned&>(both);
}

// A warp's 16 rows of a box of C, swizzled in shared memory as TMA expects it; `sum` are the thread's elements of
// the box.
template <typename T>
__device__ void write_box(unsigned box, const float* sum, T* type)
{
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    for (int j = 0; j < WIDTH / 8; j += 2) {
        const float* s = sum + 4 * j;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(box + row * 128 + ((j + lane / 16) ^ row % 8) * 16), "r"(pair(s[0], s[1], type)),
                        "r"(pair(s[2], s[3], type)), "r"(pair(s[4], s[5], type)), "r"(pair(s[6], s[7], type))
                     : "memory");
    }
}

__device__ void write_box(unsigned box, const float* sum, float*)
{
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < WIDTH / 2; i += 2) {
        const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + i / 2 % 2 * 8;
        const int chunk = (i / 4 * 2 + lane % 4 / 2) ^ row % 8;
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};"
                     :: "r"(box + row * 128 + chunk * 16 + lane % 2 * 8), "f"(sum[i]), "f"(sum[i + 1]) : "memory");
    }
}

// Stores a warp's 16 rows of a box of C, as far as they lie in it. Elements of a row are neighbours in memory, or those
// of a column may be.
template <bool ALONG_ROWS>
__device__ void store_rows(const unsigned char* box, OUTPUT* C, int rows, int columns, long long down, long long across)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i) {
        const int y = ALONG_ROWS ? (i * 32 + lane) / WIDTH : lane % 16;
        const int x = ALONG_ROWS ? (i * 32 + lane) % WIDTH : i * 2 + lane / 16;
        if (y < rows && x < columns)
            C[y * down + x * (ALONG_ROWS ? 1 : across)] =
                *reinterpret_cast<const OUTPUT*>(box + y * 128 + (x * sizeof(OUTPUT) ^ y % 8 * 16));
    }
}

// The same, 16 bytes at once, where rows of C begin at multiples of 16 bytes.
__device__ void store_chunks(const unsigned char* box, OUTPUT* C, int rows, int columns, long long down)
{
    constexpr int EACH = 16 / sizeof(OUTPUT), CHUNKS = WIDTH / EACH;
    const int lane = threadIdx.x % 32, chunk = lane % CHUNKS, x = chunk * EACH;
#pragma unroll
    for (int y = lane / CHUNKS; y < 16; y += 32 / CHUNKS) {
        const OUTPUT* const from = reinterpret_cast<const OUTPUT*>(box + y * 128 + (chunk ^ y % 8) * 16);
        if (y < rows && x + EACH <= columns)
            *reinterpret_cast<int4*>(C + y * down + x) = *reinterpret_cast<const int4*>(from);
        else if (y < rows)
            for (int j = 0; x + j < columns; ++j)
                C[y * down + x + j] = from[j];
    }
}

// Stores four neighbours of a row of C, as far as they are there.
__device__ void store_four(OUTPUT* to, const float4& sum, int columns, long long across)
{
    struct alignas(4 * sizeof(OUTPUT)) { OUTPUT elements[4]; } four;
    const float sums[4] = {sum.x, sum.y, sum.z, sum.w};
    for (int j = 0; j < 4; ++j)
        four.elements[j] = as_output(sums[j], static_cast<OUTPUT*>(nullptr));
    if (across == 1 && columns >= 4 && reinterpret_cast<unsigned long long>(to) % sizeof(four) == 0)
        *reinterpret_cast<decltype(four)*>(to) = four;
    else
        for (int j = 0; j < 4 && j < columns; ++j)
            to[j * across] = four.elements[j];
}

// The sums of the blocks of a cluster are added in order, by each block those of its share of the rows. It takes long
// to read another block's memory: a thread asks for FOURS times four sums at once.
__device__ void add_up(const float* sums, OUTPUT* C, int m, int n, int splits, const Work& tile, long long down,
                       long long across)
{
    constexpr int THREADS = 128 * CONSUMERS, MOST = BM * BN / 4 / 2 / THREADS, FOURS = MOST < 8 ? MOST : 8;
    const int rank = rank_in_cluster(), end = BM * (rank + 1) / splits * (BN / 4);
    for (int first = BM * rank / splits * (BN / 4) + threadIdx.x - 128; first < end; first += FOURS * THREADS) {
        float4 sum[FOURS] = {};
        for (int split = 0; split < splits; ++split) {
            float4 part[FOURS];
#pragma unroll
            for (int i = 0; i < FOURS; ++i) {
                const int at = min(first + i * THREADS, end - 1);
                part[i] = load_from(sums + at / (BN / 4) * PITCH + at % (BN / 4) * 4, split);
            }
#pragma unroll
            for (int i = 0; i < FOURS; ++i)
                sum[i].x += part[i].x, sum[i].y += part[i].y, sum[i].z += part[i].z, sum[i].w += part[i].w;
        }
#pragma unroll
        for (int i = 0; i < FOURS; ++i) {
            const int at = first + i * THREADS, y = tile.row + at / (BN / 4), x = tile.column + at % (BN / 4) * 4;
            if (at < end && y < m)
                store_four(C + y * down + x * across, sum[i], n - x, across);
        }
    }
}

// Multiplies a consumer's block r of 64 rows of a stage's tile of A with its tile of B; sums begin where `add` is
// false.
template <bool A_COLUMNS, bool B_COLUMNS>
__device__ __forceinline__ void
multiply_tiles(float (&sum)[BN / 2], const unsigned char* stage, int consumer, int r, bool add)
{
    const unsigned a = shared_address(stage), b = a + PARTS * A_BYTES, own = a + consumer * WM * DEPTH_BYTES;
    const unsigned long long of_a = A_COLUMNS ? columns_along_k(own, 64 * DEPTH_BYTES) : rows_along_k<DEPTH_BYTES>(own);
    const unsigned long long of_b = B_COLUMNS ? columns_along_k(b, 64 * DEPTH_BYTES) : rows_along_k<DEPTH_BYTES>(b);
#pragma unroll
    for (int order = PARTS - 1; order >= 0; --order)  // others are too small for float32
#pragma unroll
        for (int p = 0; p <= order; ++p) {
            const int q = order - p;
#pragma unroll
            for (int i = 0; i < BK; i += STEP) {
                const int along_a = A_COLUMNS ? i * 128 : i * sizeof(ELEMENT);
                const int along_b = B_COLUMNS ? i * 128 : i * sizeof(ELEMENT);
                multiply<A_COLUMNS, B_COLUMNS>(sum, moved(of_a, p * A_BYTES + r * 64 * DEPTH_BYTES + along_a),
                                               moved(of_b, q * B_BYTES + along_b), add);
                add = true;
            }
        }
}

// A_COLUMNS: A's tiles lie by columns along k, as they do where A is stored by columns; B_COLUMNS: so do B's, where
// B is stored by rows. C has its elements `down` and `across` from each other, or is a map.
template <bool A_COLUMNS, bool B_COLUMNS, int WHERE>
__global__ void __launch_bounds__(128 * (1 + CONSUMERS), RESIDENT)
product(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c,
        OUTPUT* C, int m, int n, int k, int splits, long long down, long long across
#if PARTS > 1
        , const int* row_scales, const float* A, long long a_across, long long a_along, const int* column_scales,
        const float* B, long long b_across, long long b_along, const int* doubts, int count_doubts
#endif
        )
{
    constexpr int SHARING = WHERE == TOGETHER ? 1 : CLUSTER;  // blocks that fetch a tile of B together
    constexpr bool IN_CLUSTERS = WHERE == TOGETHER || CLUSTER > 1;
    // While the last launch still runs, a block makes its barriers, and with one consumer its producer comes as far as
    // the first copy. With two it waits before its loop: products of 1024 are 5 % faster so. (With parts all wait at the
    // beginning, or ptxas would take descriptors from ordinary registers.)
    constexpr bool AT_FIRST_COPY = CONSUMERS == 1;
    // Behind its branch and the consumers', ptxas uses no more registers than the producer has.
    constexpr int PRODUCERS_REGISTERS = WHERE == TOGETHER ? 72 : 40;
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char* const stages = memory;
    float* const sums = reinterpret_cast<float*>(memory);
    unsigned char* const boxes = stages + STAGES * STAGE_BYTES;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + (WHERE != TOGETHER) * CONSUMERS * 2 * BOX_BYTES);
    Barrier* const empty = full + STAGES;
    if (PARTS == 1 && threadIdx.x == 0) {
        fetch_map(&map_a);
        fetch_map(&map_b);
    }
    if (threadIdx.x < STAGES) {
        make_barrier(full + threadIdx.x, 1);
        make_barrier(empty + threadIdx.x, CONSUMERS * SHARING);
        publish_barriers();
    }
    __syncwarp();
#if PARTS > 1
    wait_for_last_launch();
    let_next_begin();
    if (any_doubt(doubts, count_doubts)) {
        const Unsplit a = {A, a_across, a_along}, b = {B, b_across, b_along};
        without_parts(a, b, C, m, n, k, down, across, reinterpret_cast<float*>(memory));
        return;
    }
#endif
    // The producer's warps go on at once, the consumers wait for the barriers; all blocks of a cluster wait for each
    // other where one's copies come to another's barriers.
    if (SHARING > 1)
        cluster_barrier();
    else if (threadIdx.x < 128)
        group_arrives(EVERYONE, 128 * (1 + CONSUMERS));
    else
        group_barrier(EVERYONE, 128 * (1 + CONSUMERS));

    const int size = SHARING * splits, first = blockIdx.x / size, blocks = gridDim.x / size;
    const int count = (m + BM * SHARING - 1) / (BM * SHARING) * ((n + BN - 1) / BN);
    int stage = 0, phase = 0;  // of the ring of stages
    if (threadIdx.x < 128) {
        if (CONSUMERS == 2)
            give_registers<PRODUCERS_REGISTERS>();
        if (PARTS == 1 && !AT_FIRST_COPY && threadIdx.x == 0) {
            wait_for_last_launch();
            let_next_begin();
        }
        if (threadIdx.x == 0)
            for (int index = first; index < count; index += blocks) {
                const Work tile = work<SHARING>(index, m, n, k, splits);
                for (int step = tile.first; step < tile.last; ++step) {
                    wait(empty + stage, phase ^ 1);
                    expect(full + stage, STAGE_BYTES);
                    if (PARTS == 1 && AT_FIRST_COPY && index == first && step == tile.first) {
                        wait_for_last_launch();
                        let_next_begin();
                    }
                    unsigned char* a = stages + stage * STAGE_BYTES;
                    unsigned char* b = a + PARTS * A_BYTES;
                    for (int part = 0; part < PARTS; ++part, a += A_BYTES, b += B_BYTES) {
                        if (A_COLUMNS)
                            for (int i = 0; i < BM; i += 64)
                                fetch(a + i * DEPTH_BYTES, &map_a, tile.row + i, step * BK, part, full + stage);
                        else
                            fetch(a, &map_a, step * BK, tile.row, part, full + stage);
                        // The blocks of a cluster need the same tile of B: each fetches its share for all.
                        const int rank = SHARING > 1 ? rank_in_cluster() : 0;
                        constexpr int box = B_COLUMNS ? 64 : BN / SHARING;
                        for (int i = rank * box; i < BN; i += SHARING * box) {
                            const int x = B_COLUMNS ? tile.column + i : step * BK;
                            const int y = B_COLUMNS ? step * BK : tile.column + i;
                            if (SHARING > 1)
                                fetch_for((1 << SHARING) - 1, b + i * DEPTH_BYTES, &map_b, x, y, part, full + stage);
                            else
                                fetch(b + i * DEPTH_BYTES, &map_b, x, y, part, full + stage);
                        }
                    }
                    phase ^= ++stage == STAGES;
                    stage %= STAGES;
                }
            }
        __syncwarp();
    } else {
        if (CONSUMERS == 2)
            take_registers<252 - PRODUCERS_REGISTERS / 2>();
        // From a warp's first thread, so that the compiler knows that it is the same for all.
        const int consumer = __shfl_sync(~0u, threadIdx.x / 128 - 1, 0), thread = threadIdx.x % 128;
        float sum[ROWS][BN / 2];
        int box = 0;
        for (int index = first; index < count; index += blocks) {
            const Work tile = work<SHARING>(index, m, n, k, splits);
            Barrier* before = nullptr;  // of the step before, whose stage products may still read
            const auto next_stage = [&] {
                before = empty + stage;
                phase ^= ++stage == STAGES;
                stage %= STAGES;
            };
            if constexpr (PROMOTED) {
                float part[OVERLAP + 1][BN / 2];
                for (int i = 0; i < ROWS * BN / 2; ++i)
                    sum[i / (BN / 2)][i % (BN / 2)] = 0;
#pragma unroll
                for (int i = 0; i < BN / 2; ++i)
                    part[OVERLAP][i] = 0;
                const auto add = [&](int r, int which) {
#pragma unroll
                    for (int i = 0; i < BN / 2; ++i)
                        sum[r][i] += part[which][i];
                };
                const auto multiply_step = [&](int turn) {
                    wait(full + stage, phase);
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        const int which = (turn * ROWS + r) % (OVERLAP + 1);
                        begin_products();
                        multiply_tiles<A_COLUMNS, B_COLUMNS>(part[which], stages + stage * STAGE_BYTES, consumer, r,
                                                             false);
                        commit_products();
                        wait_for_products<OVERLAP>();
                        if (OVERLAP && r == 0 && before)
                            let_go<SHARING>(before);
                        add((r + ROWS - OVERLAP) % ROWS, (which + OVERLAP) % (OVERLAP + 1));
                    }
                    next_stage();
                    if (!OVERLAP)
                        let_go<SHARING>(before);
                };
                const auto add_last = [&](int which) {
                    wait_for_products<0>();
                    let_go<SHARING>(before);
                    add(ROWS - 1, which);
                };
                int step = tile.first;
#pragma unroll 1
                for (; step + TURNS <= tile.last; step += TURNS)
#pragma unroll
                    for (int turn = 0; turn < TURNS; ++turn)
                        multiply_step(turn);
                if (OVERLAP && step < tile.last) {
                    multiply_step(0);
                    add_last((ROWS - 1) % 2);
                } else if (OVERLAP) {
                    add_last(1);
                }
            } else {
                for (int step = tile.first; step < tile.last; ++step) {
                    wait(full + stage, phase);
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        begin_products();
                        multiply_tiles<A_COLUMNS, B_COLUMNS>(sum[r], stages + stage * STAGE_BYTES, consumer, r,
                                                             step > tile.first);
                        commit_products();
                    }
                    wait_for_products<ROWS>();
                    if (before)
                        let_go<SHARING>(before);
                    next_stage();
                }
                wait_for_products<0>();
                let_go<SHARING>(before);
            }

            if (PARTS == 1)  // as the producer has, so that it may write C
                wait_for_last_launch();
            if (WHERE == TOGETHER)  // sums take the place of the stages
                group_barrier(ALL_CONSUMERS, 128 * CONSUMERS);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int row = tile.row + consumer * WM + r * 64;
#if PARTS > 1
                if (SCALED) {
                    const int lane = thread % 32, y = row + thread / 32 * 16 + lane / 4, x = tile.column + lane % 4 * 2;
                    const int scales[2] = {y < m ? row_scales[y] : 0, y + 8 < m ? row_scales[y + 8] : 0};
#pragma unroll
                    for (int i = 0; i < BN / 2; ++i) {
                        const int column = x + i / 4 * 8 + i % 2;
                        if (column < n)
                            sum[r][i] = ldexpf(sum[r][i], scales[i / 2 % 2] + column_scales[column]);
                    }
                }
#endif
                if (WHERE == TOGETHER) {
                    const int lane = thread % 32;
                    float* const to = sums + (row - tile.row + thread / 32 * 16 + lane / 4) * PITCH + lane % 4 * 2;
#pragma unroll
                    for (int i = 0; i < BN / 2; i += 2)
                        *reinterpret_cast<float2*>(to + i / 2 % 2 * 8 * PITCH + i / 4 * 8) =
                            make_float2(sum[r][i], sum[r][i + 1]);
                    continue;
                }
#pragma unroll
                for (int j = 0; j < BN; j += BOX_COLUMNS, box ^= 1) {
                    unsigned char* const to = boxes + (consumer * 2 + box) * BOX_BYTES;
                    if (WHERE == BY_COPIES) {
                        if (thread == 0)
                            stores_have_read<1>();
                        group_barrier(CONSUMER + consumer, 128);
                    }
                    write_box(shared_address(to), sum[r] + j / 2, static_cast<OUTPUT*>(nullptr));
                    if (WHERE == BY_COPIES) {
                        publish_to_copies();
                        group_barrier(CONSUMER + consumer, 128);
                        if (thread == 0)
                            store(&map_c, to, tile.column + j, row);
                    } else {
                        __syncwarp();
                        const int y = thread / 32 * 16, x = tile.column + j;
                        OUTPUT* const c = C + (row + y) * down + x * across;
                        if (across == 1 && (reinterpret_cast<unsigned long long>(C) | down * sizeof(OUTPUT)) % 16 == 0)
                            store_chunks(to + y * 128, c, m - row - y, n - x, down);
                        else if (across == 1)
                            store_rows<true>(to + y * 128, c, m - row - y, n - x, down, 1);
                        else
                            store_rows<false>(to + y * 128, c, m - row - y, n - x, down, across);
                    }
                }
            }
        }
        if (WHERE == BY_COPIES && thread == 0)
            stores_have_read<0>();
    }
    if (WHERE == TOGETHER) {
        cluster_barrier();
        if (threadIdx.x >= 128)
            add_up(sums, C, m, n, splits, work<SHARING>(first, m, n, k, splits), down, across);
    }
    // Nobody leaves while another block of the cluster may still arrive at its barriers, or read or write its memory.
    if (IN_CLUSTERS)
        cluster_barrier();
}

// Rows of `width` bytes at multiples of 16 bytes, as TMA takes them. A thread copies words of a row, each out of two,
// since rows may begin at any byte, but for the end of a row, behind which nothing may be read.
extern "C" __global__ void __launch_bounds__(256)
pack(const unsigned char* from, unsigned* to, int rows, long long width, long long leading, long long packed)
{
    wait_for_last_launch();
    let_next_begin();
    const long long first = (blockIdx.x * AT_ONCE * 256ll + threadIdx.x) * 4, stride = gridDim.x * AT_ONCE * 1024ll;
    for (int y = blockIdx.y; y < rows; y += gridDim.y)
        for (long long x = first; x < width; x += stride) {
            const unsigned char* const bytes = from + y * leading + x;
            const unsigned behind = reinterpret_cast<unsigned long long>(bytes) % 4;  // the word that they begin in
            const unsigned* const words = reinterpret_cast<const unsigned*>(bytes - behind);
            const auto word = [&](int i) { return __funnelshift_r(words[i * 256], words[i * 256 + 1], 8 * behind); };
            const long long left = width - x + behind;
            unsigned* const packed_words = to + (y * packed + x) / 4;
            if (left >= AT_ONCE * 1024 - 1016) {
                unsigned copied[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i)
                    copied[i] = word(i);
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i)
                    packed_words[i * 256] = copied[i];
                continue;
            }
            for (int i = 0; x + i * 1024 < width; ++i) {
                unsigned copied = 0;
                if (left >= i * 1024 + 8)
                    copied = word(i);
                else
                    for (int byte = 0; byte < 4 && x + i * 1024 + byte < width; ++byte)
                        copied |= bytes[i * 1024 + byte] << 8 * byte;
                packed_words[i * 256] = copied;
            }
        }
}

// The transpose, packed likewise: wgmma takes elements of 8 and 32 bits with rows along k only. Blocks of 32×8 threads.
extern "C" __global__ void __launch_bounds__(256)
transpose(const BITS* from, BITS* to, int rows, int width, long long leading, long long packed)
{
    __shared__ BITS tile[32][33];
    wait_for_last_launch();
    let_next_begin();
    const int x = threadIdx.x, left = blockIdx.x * 32;
    for (int top = blockIdx.y * 32; top < rows; top += gridDim.y * 32) {
        for (int y = threadIdx.y; y < 32; y += 8)
            if (top + y < rows && left + x < width)
                tile[y][x] = from[(top + y) * leading + left + x];
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 8)
            if (left + y < width && top + x < rows)
                to[(left + y) * packed + top + x] = tile[x][y];
        __syncthreads();
    }
}
