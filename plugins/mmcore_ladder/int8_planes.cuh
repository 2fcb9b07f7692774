// Products of matrices of bytes by wgmma, one plane of C after another: a persistent block for each multiprocessor, or
// clusters of two that share tiles of B.

#pragma once

#define WGMMA_FORM "k32.s32.s8.s8"
#define WGMMA_INTEGERS

#include "hopper.cuh"
#include "launches.cuh"
#include "wgmma.cuh"

constexpr int BK = 128, WM = BM / CONSUMERS, ROWS = WM / 64;
constexpr int A_BYTES = BM * BK, B_BYTES = BN * BK, STAGE_BYTES = A_BYTES + B_BYTES;
enum Group { EVERYONE, CONSUMER };  // barriers' numbers

struct Tile {
    int row, column, plane;
};

// The tiles of one plane follow those of another. GROUP rows of tiles follow each other column by column.
inline __device__ Tile tile_of(int index, int m, int n)
{
    const int down = (m + BM * CLUSTER - 1) / (BM * CLUSTER), across = (n + BN - 1) / BN, within = index % (down * across);
    const int above = within / (GROUP * across) * GROUP, rest = within % (GROUP * across);
    const int rows = min(GROUP, down - above), rank = CLUSTER > 1 ? rank_in_cluster() : 0;
    return {((above + rest % rows) * CLUSTER + rank) * BM, rest / rows * BN, index / (down * across)};
}

// The planes of A and B whose product is a plane of C: the same.
struct SamePlane {
    int first;  // of the launch

    __device__ int terms(int plane) const { return 1; }
    __device__ int of_a(int plane, int term) const { return first + plane; }
    __device__ int of_b(int plane, int term) const { return first + plane; }
};

// Makes `planes` planes of C, each the sum of products of pairs of planes. `finish` takes a consumer's sums of 64 rows.
template <typename Pairs, typename Finish>
__device__ void multiply_planes(const Map& map_a, const Map& map_b, unsigned char* memory, Barrier* full, int m, int n,
                                int k, int planes, Pairs pairs, Finish finish)
{
    Barrier* const empty = full + STAGES;
    const int first = blockIdx.x / CLUSTER, blocks = gridDim.x / CLUSTER, steps = (k + BK - 1) / BK;
    const int count = (m + BM * CLUSTER - 1) / (BM * CLUSTER) * ((n + BN - 1) / BN) * planes;
    int stage = 0, phase = 0;  // of the ring of stages
    if (threadIdx.x < 128) {
        if (CONSUMERS == 2)
            give_registers<40>();
        if (threadIdx.x == 0)
            for (int index = first; index < count; index += blocks) {
                const Tile tile = tile_of(index, m, n);
                for (int term = 0; term < pairs.terms(tile.plane); ++term) {
                    const int plane_a = pairs.of_a(tile.plane, term), plane_b = pairs.of_b(tile.plane, term);
                    for (int step = 0; step < steps; ++step) {
                        wait(empty + stage, phase ^ 1);
                        expect(full + stage, STAGE_BYTES);
                        unsigned char* const a = memory + stage * STAGE_BYTES;
                        fetch(a, &map_a, step * BK, tile.row, plane_a, full + stage);
                        // The blocks of a cluster need the same tile of B: each fetches its share for all.
                        const int share = CLUSTER > 1 ? rank_in_cluster() * (BN / CLUSTER) : 0;
                        unsigned char* const b = a + A_BYTES + share * BK;
                        if (CLUSTER > 1)
                            fetch_for((1 << CLUSTER) - 1, b, &map_b, step * BK, tile.column + share, plane_b, full + stage);
                        else
                            fetch(b, &map_b, step * BK, tile.column, plane_b, full + stage);
                        phase ^= ++stage == STAGES;
                        stage %= STAGES;
                    }
                }
            }
        __syncwarp();
    } else {
        if (CONSUMERS == 2)
            take_registers<232>();
        // From a warp's first thread, so that the compiler knows that it is the same for all.
        const int consumer = __shfl_sync(~0u, threadIdx.x / 128 - 1, 0);
        int sum[ROWS][BN / 2];
        for (int index = first; index < count; index += blocks) {
            const Tile tile = tile_of(index, m, n);
            const int all = steps * pairs.terms(tile.plane);
            Barrier* before = nullptr;  // of the step before, whose stage products may still read
            for (int step = 0; step < all; ++step) {
                wait(full + stage, phase);
                const unsigned a = shared_address(memory + stage * STAGE_BYTES) + consumer * WM * BK;
                const unsigned b = shared_address(memory + stage * STAGE_BYTES + A_BYTES);
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    begin_products();
#pragma unroll
                    for (int i = 0; i < BK; i += 32)
                        multiply<0, 0>(sum[r], moved(rows_along_k<BK>(a), r * 64 * BK + i), moved(rows_along_k<BK>(b), i),
                                       step > 0 || i > 0);
                    commit_products();
                }
                wait_for_products<ROWS>();
                if (before)
                    let_go<CLUSTER>(before);
                before = empty + stage;
                phase ^= ++stage == STAGES;
                stage %= STAGES;
            }
            wait_for_products<0>();
            let_go<CLUSTER>(before);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                finish(sum[r], Tile{tile.row + consumer * WM + r * 64, tile.column, tile.plane}, consumer);
        }
    }
    // Nobody leaves while another block of the cluster may still arrive at its barriers.
    if (CLUSTER > 1)
        cluster_barrier();
}

// Makes the barriers of the ring and waits for the launch in front.
inline __device__ void make_ring(Barrier* full)
{
    if (threadIdx.x < STAGES) {
        make_barrier(full + threadIdx.x, 1);
        make_barrier(full + STAGES + threadIdx.x, CONSUMERS * CLUSTER);
        publish_barriers();
    }
    __syncwarp();
    wait_for_last_launch();
    let_next_begin();
    if (CLUSTER > 1)
        cluster_barrier();
    else
        __syncthreads();
}

// Stores sums of 32 bits to a matrix with rows of `ldc` elements.
inline __device__ void store_sums(const int (&sum)[BN / 2], const Tile& tile, int* C, int m, int n, long long ldc)
{
    const int thread = threadIdx.x % 128, lane = thread % 32;
    const int row = tile.row + thread / 32 * 16 + lane / 4, column = tile.column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < BN / 2; i += 2) {
        const int y = row + i / 2 % 2 * 8, x = column + i / 4 * 8;
        int* const to = C + y * ldc + x;
        if (y < m && x + 1 < n && ldc % 2 == 0)
            *reinterpret_cast<int2*>(to) = {sum[i], sum[i + 1]};
        else if (y < m)
            for (int j = 0; j < 2 && x + j < n; ++j)
                to[j] = sum[i + j];
    }
}
