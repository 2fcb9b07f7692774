// At the end of each block the tensor cores stand still: sums are stored, the block ends, the next one makes its
// barriers and waits for its first tiles. Now there is one block for each multiprocessor, which computes tile after
// tile of C: the producer fetches the next tile's operands while the consumers still store the last one's sums.
//
// Which tile comes next is ours to choose. Tiles of GROUP rows of tiles are taken column by column, so that the
// tiles under way at a time share few rows of A and columns of B, and find them in L2.
//
// A tile of 128×256, twice that of rung 9, needs fewer bytes for each product. Its sums take 128 registers of each
// consumer's thread, which has 168 where all have the same; so the producer gives away what it does not need.

#define WGMMA_FORM "k16.f32.bf16.bf16"
#define WGMMA_MAJORS

#include "hopper.cuh"
#include "wgmma.cuh"
#include "epilogue.cuh"

constexpr int BK = 64, CONSUMERS = 2;

struct Stage {
    __nv_bfloat16 a[BM * BK];
    __nv_bfloat16 b[BN * BK];
};

struct Tile {
    int row, column;
};

__device__ Tile tile_of(int index, int m, int n)
{
    const int down = m / BM, across = n / BN;
    const int above = index / (GROUP * across) * GROUP, within = index % (GROUP * across);
    const int rows = min(GROUP, down - above);
    return {(above + within % rows) * BM, within / rows * BN};
}

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
product(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, __nv_bfloat16* C, int m, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage* const stages = reinterpret_cast<Stage*>(memory);
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES);
    Barrier* const empty = full + STAGES;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);
            make_barrier(empty + stage, CONSUMERS);
        }
        publish_barriers();
    }
    __syncthreads();

    const int tiles = m / BM * (n / BN);
    int stage = 0, phase = 0;
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0)
            for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
                const Tile tile = tile_of(index, m, n);
                for (int start = 0; start < k; start += BK) {
                    wait(empty + stage, phase ^ 1);
                    expect(full + stage, sizeof(Stage));
                    fetch(stages[stage].a, &map_a, start, tile.row, full + stage);
                    fetch(stages[stage].b, &map_b, start, tile.column, full + stage);
                    phase ^= ++stage == STAGES;
                    stage %= STAGES;
                }
            }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1;
        for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
            const Tile tile = tile_of(index, m, n);
            float sum[BN / 2];
            int before = stage;
            for (int start = 0; start < k; start += BK) {
                wait(full + stage, phase);
                begin_products();
                for (int p = 0; p < BK; p += 16)
                    multiply<0, 0>(sum, rows_along_k<128>(shared_address(stages[stage].a + consumer * 64 * BK + p)),
                                   rows_along_k<128>(shared_address(stages[stage].b + p)), start + p > 0);
                commit_products();
                wait_for_products<1>();
                if (start > 0 && threadIdx.x % 128 == 0)
                    arrive(empty + before);
                before = stage;
                phase ^= ++stage == STAGES;
                stage %= STAGES;
            }
            wait_for_products<0>();
            if (threadIdx.x % 128 == 0)
                arrive(empty + before);
            store_sums(sum, C, n, tile.row + consumer * 64, tile.column);
        }
    }
}
