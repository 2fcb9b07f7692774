// ladder.bf16.05_async: the next tiles are on their way while these are multiplied.
//
// In rung 4 a block loaded, waited, and multiplied, in turn; only other blocks of the multiprocessor could use the
// tensor cores meanwhile, and what was loaded passed through registers. cp.async copies from global to shared memory by
// itself. There are two stages, each with a tile of A and one of B: one is filled while the other is multiplied.

#include "elements.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_ALONG_N;
constexpr int CHUNK = 8;                        // elements in 16 bytes
constexpr int A_ROWS = THREADS / (BK / CHUNK);  // of a tile of A that the threads copy at once
constexpr int B_ROWS = THREADS / (BN / CHUNK);

static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0, "equal shares for all threads");

__global__ void __launch_bounds__(THREADS, 2)
two_stages(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    __shared__ __align__(128) ELEMENT tiles_a[2][BM * BK];
    __shared__ __align__(128) ELEMENT tiles_b[2][BK * BN];

    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;
    const int first_row = blockIdx.y * BM;
    const int first_column = blockIdx.x * BN;

    const int a_row = thread / (BK / CHUNK), a_chunk = thread % (BK / CHUNK);
    const int b_row = thread / (BN / CHUNK), b_chunk = thread % (BN / CHUNK);
    A += (first_row + a_row) * k + a_chunk * CHUNK;
    B += b_row * n + first_column + b_chunk * CHUNK;

    // Begin to copy the tiles that A and B point to, as one group.
    auto fetch = [&](int stage) {
#pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i)
            copy_async_16(shared_address(tiles_a[stage] + place<BK>(i * A_ROWS + a_row, a_chunk)), A + i * A_ROWS * k);
#pragma unroll
        for (int i = 0; i < BK / B_ROWS; ++i)
            copy_async_16(shared_address(tiles_b[stage] + place<BN>(i * B_ROWS + b_row, b_chunk)), B + i * B_ROWS * n);
        end_group();
        A += BK;
        B += BK * n;
    };

    float sum[WM / 16][WN / 8][4] = {};

    fetch(0);
#pragma unroll 1
    for (int start = 0, stage = 0; start < k; start += BK, stage ^= 1) {
        if (start + BK < k) {
            fetch(stage ^ 1);
            wait_groups<1>();  // the group before the one just begun has landed
        } else {
            wait_groups<0>();
        }
        __syncthreads();  // and so have the other threads' copies

#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            unsigned b[WN / 16][4];
#pragma unroll
            for (int j = 0; j < WN / 16; ++j) {
                const int chunk = (warp_column + 16 * j) / 8 + lane / 16;
                load_matrices_transposed(b[j], shared_address(tiles_b[stage] + place<BN>(p + lane % 16, chunk)));
            }
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
                const int row = warp_row + 16 * i + lane % 16;
                unsigned a[4];
                load_matrices(a, shared_address(tiles_a[stage] + place<BK>(row, p / 8 + lane / 16)));
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    multiply<ELEMENT>(sum[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
        __syncthreads();  // nobody reads this stage any more: it is filled next
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
