// ladder.bf16.04_swizzle: tiles without bank conflicts.
//
// In rung 3 the chunks of 16 bytes that ldmatrix reads at once, one of each of eight rows, lay in the same banks: four
// at a time of A, eight of B, one after the other. Here the chunks of each row change places, and in another way in the
// rows below: chunk c of row r lies where chunk c ^ (r / R % N) would, with N chunks in a row, at most eight, and R rows
// beside each other in the 128 bytes that all banks have. ^ is the exclusive or: within a row it only exchanges chunks,
// so no two meet, and no memory is spent on padding. All else is rung 3's.

#include "elements.cuh"
#include "mma.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int CHUNK = 8;                            // elements in 16 bytes
constexpr int A_ROWS = THREADS / (BK / CHUNK);      // of a tile of A that the threads copy at once
constexpr int B_ROWS = THREADS / (BN / CHUNK);

static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0, "equal shares for all threads");
static_assert(A_ROWS % 8 == 0 && B_ROWS % 8 == 0, "the rows that a thread copies have their chunks in the same order");

// Where chunk number `chunk` of a row lies in a tile with rows of LENGTH elements, in elements. 32 banks hold eight
// chunks: one row of 64 elements or more, or several shorter rows. The eight rows that ldmatrix reads at once have
// their chunks of one number in eight different places of these.
template <int LENGTH> __device__ int place(int row, int chunk)
{
    constexpr int CHUNKS = LENGTH / 8 < 8 ? LENGTH / 8 : 8;  // of a row that change places with each other
    constexpr int ROWS = 8 / CHUNKS;                         // that lie in the 32 banks beside each other
    return row * LENGTH + (chunk ^ row / ROWS % CHUNKS) * 8;
}

__global__ void __launch_bounds__(THREADS, 2)
swizzle(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    __shared__ __align__(128) ELEMENT tile_a[BM * BK];
    __shared__ __align__(128) ELEMENT tile_b[BK * BN];

    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;
    const int first_row = blockIdx.y * BM;
    const int first_column = blockIdx.x * BN;

    // Neighbouring threads copy neighbouring chunks of 16 bytes, BK / CHUNK of a row of A, BN / CHUNK of a row of B.
    const int a_row = thread / (BK / CHUNK), a_chunk = thread % (BK / CHUNK);
    const int b_row = thread / (BN / CHUNK), b_chunk = thread % (BN / CHUNK);
    A += (first_row + a_row) * k + a_chunk * CHUNK;
    B += b_row * n + first_column + b_chunk * CHUNK;

    // Chunks change places in the same way in every eighth row, so that a thread's chunks lie whole rows apart.
    uint4* const to_a = reinterpret_cast<uint4*>(tile_a + place<BK>(a_row, a_chunk));
    uint4* const to_b = reinterpret_cast<uint4*>(tile_b + place<BN>(b_row, b_chunk));

    float sum[WM / 16][WN / 8][4] = {};

#pragma unroll 1  // two steps in one would need more registers than there are for two blocks
    for (int start = 0; start < k; start += BK) {
        // All loads are under way before the first store waits for what it stores.
        uint4 from_a[BM / A_ROWS], from_b[BK / B_ROWS];
#pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i)
            from_a[i] = *reinterpret_cast<const uint4*>(A + i * A_ROWS * k);
#pragma unroll
        for (int i = 0; i < BK / B_ROWS; ++i)
            from_b[i] = *reinterpret_cast<const uint4*>(B + i * B_ROWS * n);
#pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i)
            to_a[i * A_ROWS * BK / CHUNK] = from_a[i];
#pragma unroll
        for (int i = 0; i < BK / B_ROWS; ++i)
            to_b[i * B_ROWS * BN / CHUNK] = from_b[i];
        A += BK;
        B += BK * n;
        __syncthreads();

#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            // mma.sync takes B's fragments by columns, and the tile has rows: they are transposed on the way. 16×16 of
            // B are the operands of two products, words 0 and 1 of the left one, words 2 and 3 of the right one.
            unsigned b[WN / 16][4];
#pragma unroll
            for (int j = 0; j < WN / 16; ++j)
                load_matrices_transposed(
                    b[j], shared_address(tile_b + place<BN>(p + lane % 16, (warp_column + 16 * j) / 8 + lane / 16)));
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
                // 16×16 of A are four matrices: rows 0 to 7 and 8 to 15 of the left half, then those of the right half.
                unsigned a[4];
                load_matrices(a, shared_address(tile_a + place<BK>(warp_row + 16 * i + lane % 16, p / 8 + lane / 16)));
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    multiply<ELEMENT>(sum[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
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
