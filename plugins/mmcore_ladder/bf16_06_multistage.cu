// ladder.bf16.06_multistage: copies several steps ahead, and fragments one.
//
// Rung 5's copies had one step's time to arrive, and its products waited for fragments loaded just before. Here copies
// are STAGES - 1 steps ahead, and the fragments of the next 16 of k are loaded while these are multiplied; one barrier
// in a step is enough. Tiles are larger: 128×256 of C for a block, 64×64 for a warp. Blocks that run together cover a
// compact part of C, so that what they read stays in L2. C goes through shared memory: a thread stores 16 bytes.

#include "elements.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int CHUNK = 8;                        // elements in 16 bytes
constexpr int A_ROWS = THREADS / (BK / CHUNK);  // of a tile of A that the threads copy at once
constexpr int B_ROWS = THREADS / (BN / CHUNK);
constexpr int C_ROWS = THREADS / (BN / CHUNK);
constexpr int STEPS = BK / 16;                  // 16 of k are multiplied at once
constexpr int STAGE = (BM + BN) * BK;           // elements: a tile of A, and behind it one of B

static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0 && BM % C_ROWS == 0, "equal shares for all threads");
static_assert(A_ROWS % 8 == 0 && B_ROWS % 8 == 0, "the rows that a thread copies have their chunks in the same order");
static_assert(STEPS % 2 == 0, "fragments take turns in two sets of registers");
static_assert(BM * BN <= STAGES * STAGE, "C's tile fits into the stages");

__global__ void __launch_bounds__(THREADS)
multistage(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    extern __shared__ __align__(128) ELEMENT stages[];  // more than 48 KB must be asked for at the launch

    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;

    // Blocks begin in the order of their numbers. GROUP rows of tiles are a group, and in it one column follows the
    // other.
    const int number = blockIdx.y * gridDim.x + blockIdx.x;
    const int in_group = GROUP * gridDim.x;
    const int top = number / in_group * GROUP;
    const int height = min(GROUP, static_cast<int>(gridDim.y) - top);  // the last group may be lower
    const int first_row = (top + number % in_group % height) * BM;
    const int first_column = number % in_group / height * BN;

    const int a_row = thread / (BK / CHUNK), a_chunk = thread % (BK / CHUNK);
    const int b_row = thread / (BN / CHUNK), b_chunk = thread % (BN / CHUNK);
    const ELEMENT* a_from = A + (first_row + a_row) * k + a_chunk * CHUNK;
    const ELEMENT* b_from = B + b_row * n + first_column + b_chunk * CHUNK;
    // Where these chunks lie in a stage, in bytes. A thread's other chunks lie whole rows further, since in every
    // eighth row the chunks change places in the same way.
    const unsigned a_to = 2 * place<BK>(a_row, a_chunk);
    const unsigned b_to = 2 * (BM * BK + place<BN>(b_row, b_chunk));

    // Begin to copy the next tiles, of which there are `steps`, into a stage. Where no tiles are left the group is
    // empty: waiting goes by the number of groups.
    const int steps = k / BK;
    int fetched = 0;
    auto fetch = [&] {
        if (fetched < steps) {
            const unsigned stage = shared_address(stages) + 2 * STAGE * (fetched % STAGES);
            const ELEMENT* from = a_from;
#pragma unroll
            for (int i = 0; i < BM / A_ROWS; ++i, from += A_ROWS * k)
                copy_async_16(stage + a_to + 2 * i * A_ROWS * BK, from);
            from = b_from;
#pragma unroll
            for (int i = 0; i < BK / B_ROWS; ++i, from += B_ROWS * n)
                copy_async_16(stage + b_to + 2 * i * B_ROWS * BN, from);
            a_from += BK;
            b_from += BK * n;
        }
        end_group();
        ++fetched;
    };

    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto load_fragments = [&](int set, const ELEMENT* tile_a, int p) {
        const ELEMENT* const tile_b = tile_a + BM * BK;
#pragma unroll
        for (int i = 0; i < WM / 16; ++i) {
            const int row = warp_row + 16 * i + lane % 16;
            load_matrices(a[set][i], shared_address(tile_a + place<BK>(row, p / 8 + lane / 16)));
        }
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            const int chunk = (warp_column + 16 * j) / 8 + lane / 16;
            load_matrices_transposed(b[set][j], shared_address(tile_b + place<BN>(p + lane % 16, chunk)));
        }
    };

    float sum[WM / 16][WN / 8][4] = {};

    for (int i = 0; i < STAGES - 1; ++i)
        fetch();
    wait_groups<STAGES - 2>();  // the first group has landed
    __syncthreads();
    const ELEMENT* stage = stages;
    load_fragments(0, stage, 0);

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int q = 0; q < STEPS; ++q) {
            if (q == STEPS - 1) {
                // All of this stage is in registers, and the next one must have landed. Behind the barrier this is so
                // for all threads: this stage is free, and filled by the next fetch. After the last step there is no
                // next stage; what is loaded then is not used.
                wait_groups<STAGES - 2>();
                __syncthreads();
                if (step + 1 < steps)
                    stage = stages + (step + 1) % STAGES * STAGE;
            }
            load_fragments((q + 1) % 2, stage, (q + 1) % STEPS * 16);
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
    C += (first_row + b_row) * n + first_column + b_chunk * CHUNK;
#pragma unroll
    for (int i = 0; i < BM / C_ROWS; ++i)
        *reinterpret_cast<uint4*>(C + i * C_ROWS * n) =
            *reinterpret_cast<const uint4*>(stages + place<BN>(i * C_ROWS + b_row, b_chunk));
}
