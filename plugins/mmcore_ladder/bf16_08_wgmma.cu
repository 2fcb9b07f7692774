// mma.sync needs its operands in registers: each warp loads fragments, again and again, and the tensor cores of a
// multiprocessor wait for that. On Hopper the 128 threads of a warpgroup issue one instruction, wgmma, for a product
// of 64 rows and BN columns that reads both operands from shared memory by itself. One thread asks for whole tiles
// by TMA, and a barrier in shared memory counts their bytes. TMA lays the tiles down swizzled, and wgmma reads them so.
// B is stored by columns from here on: rows of both tiles are neighbours along k, and have the same descriptors.
//
// A block has a warpgroup for every 64 of its BM rows. Nothing overlaps within it yet: fetch, wait, multiply.
// hopper.cuh explains each of these.

#define WGMMA_FORM "k16.f32.bf16.bf16"
#define WGMMA_MAJORS

#include "hopper.cuh"
#include "wgmma.cuh"
#include "epilogue.cuh"

constexpr int BK = 64;  // elements of 128 bytes, a row of what is swizzled

extern "C" __global__ void __launch_bounds__(2 * BM)
product(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, __nv_bfloat16* C, int n, int k)
{
    __shared__ __align__(1024) __nv_bfloat16 a[BM * BK];
    __shared__ __align__(1024) __nv_bfloat16 b[BN * BK];
    __shared__ Barrier full;
    const int top = blockIdx.y * BM, left = blockIdx.x * BN, warpgroup = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        make_barrier(&full, 1);
        publish_barriers();
    }
    __syncthreads();

    float sum[BN / 2] = {};
    for (int start = 0, phase = 0; start < k; start += BK, phase ^= 1) {
        if (threadIdx.x == 0) {
            expect(&full, sizeof a + sizeof b);
            fetch(a, &map_a, start, top, &full);
            fetch(b, &map_b, start, left, &full);
        }
        wait(&full, phase);
        begin_products();
        for (int p = 0; p < BK; p += 16)
            multiply<0, 0>(sum, rows_along_k<128>(shared_address(a + warpgroup * 64 * BK + p)),
                           rows_along_k<128>(shared_address(b + p)), 1);
        commit_products();
        wait_for_products<0>();
        __syncthreads();  // nobody reads the tiles any more
    }
    store_sums(sum, C, n, top + warpgroup * 64, left);
}
