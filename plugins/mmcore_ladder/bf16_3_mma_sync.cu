// ladder.bf16.3_mma_sync: the tensor cores' own instructions, mma.sync and ldmatrix.
//
// wmma hides which lane holds what, and pays for it: its fragments are loaded by several instructions, and rung 2's sums
// went through shared memory to be rounded. For mma.sync that is documented (elements.cuh). One ldmatrix (mma.cuh) loads
// what four 8×8 matrices need, and lanes round their sums where they are, in registers.
// What remains: the rows of a tile lie 64 or 256 bytes apart, so that several of the eight rows that ldmatrix reads at
// once begin in the same bank of shared memory.

#include "elements.cuh"
#include "mma.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int CHUNK = 8;                                 // elements in 16 bytes
constexpr int A_COPIES = BM * BK / (CHUNK * THREADS);    // of 16 bytes by each thread for a tile of A
constexpr int B_COPIES = BK * BN / (CHUNK * THREADS);

static_assert(A_COPIES * CHUNK * THREADS == BM * BK && B_COPIES * CHUNK * THREADS == BK * BN, "equal shares");

__global__ void __launch_bounds__(THREADS, 2)
mma_sync(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    __shared__ __align__(128) ELEMENT tile_a[BM][BK];
    __shared__ __align__(128) ELEMENT tile_b[BK][BN];

    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;
    const int first_row = blockIdx.y * BM;
    const int first_column = blockIdx.x * BN;

    float sum[WM / 16][WN / 8][4] = {};

    for (int start = 0; start < k; start += BK) {
        // All loads are under way before the first store waits for what it stores.
        uint4 from_a[A_COPIES], from_b[B_COPIES];
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i) {
            const int chunk = i * THREADS + thread, row = chunk / (BK / CHUNK), x = chunk % (BK / CHUNK) * CHUNK;
            from_a[i] = *reinterpret_cast<const uint4*>(A + (first_row + row) * k + start + x);
        }
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) {
            const int chunk = i * THREADS + thread, row = chunk / (BN / CHUNK), x = chunk % (BN / CHUNK) * CHUNK;
            from_b[i] = *reinterpret_cast<const uint4*>(B + (start + row) * n + first_column + x);
        }
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i) {
            const int chunk = i * THREADS + thread;
            *reinterpret_cast<uint4*>(&tile_a[chunk / (BK / CHUNK)][chunk % (BK / CHUNK) * CHUNK]) = from_a[i];
        }
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) {
            const int chunk = i * THREADS + thread;
            *reinterpret_cast<uint4*>(&tile_b[chunk / (BN / CHUNK)][chunk % (BN / CHUNK) * CHUNK]) = from_b[i];
        }
        __syncthreads();

#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            unsigned a[WM / 16][4], b[WN / 16][4];
            // 16×16 of A are four matrices: rows 0 to 7 and 8 to 15 of the left half, then those of the right half.
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
                load_matrices(a[i], shared_address(&tile_a[warp_row + 16 * i + lane % 16][p + lane / 16 * 8]));
            // mma.sync takes B's fragments by columns, and the tile has rows: they are transposed on the way. 16×16 of B
            // are the operands of two products, words 0 and 1 of the left one, words 2 and 3 of the right one.
#pragma unroll
            for (int j = 0; j < WN / 16; ++j)
                load_matrices_transposed(b[j],
                                         shared_address(&tile_b[p + lane % 16][warp_column + 16 * j + lane / 16 * 8]));
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    multiply<ELEMENT>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }

    // A lane stores two neighbours at once; four lanes have 16 bytes of a row.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            const int row = first_row + warp_row + 16 * i + lane / 4;
            const int column = first_column + warp_column + 8 * j + lane % 4 * 2;
            *reinterpret_cast<unsigned*>(C + row * n + column) = pack<ELEMENT>(sum[i][j][0], sum[i][j][1]);
            *reinterpret_cast<unsigned*>(C + (row + 8) * n + column) = pack<ELEMENT>(sum[i][j][2], sum[i][j][3]);
        }
}
