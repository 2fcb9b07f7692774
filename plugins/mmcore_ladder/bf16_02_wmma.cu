// ladder.bf16.02_wmma: tensor cores, by CUDA's wmma functions.
//
// Shared memory limited rung 1: each multiply-add of a thread needed two loads. A tensor core multiplies
// whole matrices: here a warp's instruction multiplies 16×16 by 16×16. A warp computes WM×WN elements of C, several
// such patches, so that each fragment of A and B that it loads from the tiles is used several times. A fragment is a
// small matrix in the registers of a warp's threads, some elements in each.

#include "elements.cuh"
#include <mma.h>

using namespace nvcuda;

constexpr int WARPS_ALONG_N = BN / WN;
constexpr int WARPS = BM / WM * WARPS_ALONG_N;
constexpr int THREADS = 32 * WARPS;
constexpr int CHUNK = 8;  // elements in the 16 bytes that a thread copies at once
constexpr int TILE_BYTES = (BM + BN) * BK * sizeof(ELEMENT);

static_assert(BM * BK % (CHUNK * THREADS) == 0 && BK * BN % (CHUNK * THREADS) == 0, "equal shares for all threads");
static_assert(WARPS * 16 * 16 * sizeof(float) <= TILE_BYTES, "a patch for each warp fits into the tiles");

__global__ void __launch_bounds__(THREADS, 2)
wmma_tiles(const ELEMENT* __restrict__ A, const ELEMENT* __restrict__ B, ELEMENT* __restrict__ C, int m, int n, int k)
{
    __shared__ __align__(128) unsigned char memory[TILE_BYTES];
    ELEMENT* const tile_a = reinterpret_cast<ELEMENT*>(memory);  // BM rows of BK elements
    ELEMENT* const tile_b = tile_a + BM * BK;                    // BK rows of BN elements

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_ALONG_N * WM;
    const int warp_column = warp % WARPS_ALONG_N * WN;
    const int first_row = blockIdx.y * BM;
    const int first_column = blockIdx.x * BN;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[WM / 16][WN / 16];
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int start = 0; start < k; start += BK) {
        // Neighbouring threads copy neighbouring chunks of 16 bytes.
#pragma unroll
        for (int i = threadIdx.x; i < BM * BK / CHUNK; i += THREADS) {
            const int row = i / (BK / CHUNK), x = i % (BK / CHUNK) * CHUNK;
            const ELEMENT* from = A + (first_row + row) * k + start + x;
            *reinterpret_cast<uint4*>(tile_a + row * BK + x) = *reinterpret_cast<const uint4*>(from);
        }
#pragma unroll
        for (int i = threadIdx.x; i < BK * BN / CHUNK; i += THREADS) {
            const int row = i / (BN / CHUNK), x = i % (BN / CHUNK) * CHUNK;
            const ELEMENT* from = B + (start + row) * n + first_column + x;
            *reinterpret_cast<uint4*>(tile_b + row * BN + x) = *reinterpret_cast<const uint4*>(from);
        }
        __syncthreads();

#pragma unroll
        for (int p = 0; p < BK; p += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, ELEMENT, wmma::row_major> a[WM / 16];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, ELEMENT, wmma::row_major> b[WN / 16];
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
                wmma::load_matrix_sync(a[i], tile_a + (warp_row + 16 * i) * BK + p, BK);
#pragma unroll
            for (int j = 0; j < WN / 16; ++j)
                wmma::load_matrix_sync(b[j], tile_b + p * BN + warp_column + 16 * j, BN);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 16; ++j)
                    wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
        }
        __syncthreads();
    }

    // Which lane holds which sum is not documented for wmma, so that a fragment, of float32, goes through shared memory
    // before it is rounded. The tiles are not needed any more: each warp has a patch of their memory.
    float* const patch = reinterpret_cast<float*>(memory) + warp * 16 * 16;
    const int row = lane / 2, x = lane % 2 * CHUNK;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            wmma::store_matrix_sync(patch, sum[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            const float* from = patch + row * 16 + x;
            const uint4 chunk = {pack<ELEMENT>(from[0], from[1]), pack<ELEMENT>(from[2], from[3]),
                                 pack<ELEMENT>(from[4], from[5]), pack<ELEMENT>(from[6], from[7])};
            ELEMENT* to = C + (first_row + warp_row + 16 * i + row) * n + first_column + warp_column + 16 * j + x;
            *reinterpret_cast<uint4*>(to) = chunk;
            __syncwarp();  // the patch is free for the next fragment
        }
}
