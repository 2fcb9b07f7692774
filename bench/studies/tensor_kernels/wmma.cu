// Each of four warps multiplies 16 rows by 16 columns. All threads fetch a 32x16 tile of A and a 16x32 tile of B.

#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void wmma_tiles(const half* A, const half* B, float* C, int m, int n, int k)
{
    __shared__ __align__(32) half a[32][16], b[16][32];
    const int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < k; start += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            a[i / 16][i % 16] = A[(blockIdx.y * 32 + i / 16) * k + start + i % 16];
            b[i / 32][i % 32] = B[(start + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        wmma::load_matrix_sync(left, &a[row][0], 16);
        wmma::load_matrix_sync(right, &b[0][column], 32);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }
    wmma::store_matrix_sync(&C[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column], sum, n, wmma::mem_row_major);
}
