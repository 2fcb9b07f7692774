// Blocks that compute tiles of C above each other fetch the same tiles of B, each for itself, from L2. Now two such
// blocks form a cluster, on neighbouring multiprocessors, that reach each other's shared memory: each fetches one half
// of B's tile, and TMA delivers it to both. A stage is empty when the consumers of both blocks have
// let it go, so each consumer tells both producers.

#define WGMMA_FORM "k16.f32.bf16.bf16"
#define WGMMA_MAJORS

#include "hopper.cuh"
#include "wgmma.cuh"
#include "epilogue.cuh"

constexpr int BK = 64, CONSUMERS = 2, BLOCKS = 2;  // blocks of a cluster

struct Stage {
    __nv_bfloat16 a[BM * BK];
    __nv_bfloat16 b[BN * BK];
};

struct Tile {
    int row, column;
};

__device__ Tile tile_of(int index, int m, int n)
{
    const int down = m / (BLOCKS * BM), across = n / BN;
    const int above = index / (GROUP * across) * GROUP, within = index % (GROUP * across);
    const int rows = min(GROUP, down - above);
    return {((above + within % rows) * BLOCKS + rank_in_cluster()) * BM, within / rows * BN};
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
            make_barrier(empty + stage, BLOCKS * CONSUMERS);
        }
        publish_barriers();
    }
    cluster_barrier();

    const int tiles = m / (BLOCKS * BM) * (n / BN), first = blockIdx.x / BLOCKS, step = gridDim.x / BLOCKS;
    int stage = 0, phase = 0;
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0)
            for (int index = first; index < tiles; index += step) {
                const Tile tile = tile_of(index, m, n);
                const int half = rank_in_cluster() * (BN / BLOCKS);
                for (int start = 0; start < k; start += BK) {
                    wait(empty + stage, phase ^ 1);
                    expect(full + stage, sizeof(Stage));  // with the half that the other block fetches
                    fetch(stages[stage].a, &map_a, start, tile.row, full + stage);
                    fetch_for(0b11, stages[stage].b + half * BK, &map_b, start, tile.column + half, full + stage);
                    phase ^= ++stage == STAGES;
                    stage %= STAGES;
                }
            }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1;
        for (int index = first; index < tiles; index += step) {
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
                if (start > 0 && threadIdx.x % 128 < BLOCKS)
                    arrive_at(empty + before, threadIdx.x % 128);
                before = stage;
                phase ^= ++stage == STAGES;
                stage %= STAGES;
            }
            wait_for_products<0>();
            if (threadIdx.x % 128 < BLOCKS)
                arrive_at(empty + before, threadIdx.x % 128);
            store_sums(sum, C, n, tile.row + consumer * 64, tile.column);
        }
    }
    // Nobody leaves while the other block may still arrive at its barriers or write its memory.
    cluster_barrier();
}
