// C = A·B, bfloat16, float32 C, B by columns: a cluster of two blocks shares the tiles of B by multicast.
// read too early: one warp of the warpgroup waits for all: if `warp == 0` #wait-full ==> #wgmma
// wgmma.wait_group: the products are not committed: drop #commit ==> #store #wgmma
// phase: no wait for full: drop #wait-full ==> #wgmma
// transaction count: the other block's half of B is not expected: `TX = (BM + BN)` -> `TX = (BM + BN / CLUSTER)`
//     ==> #expect #load-b #wait-full
// descriptor: 512 bytes from eight rows to the next: `1024ull / 16 << 32` -> `512ull / 16 << 32` ==> #wgmma
// cluster left: no cluster barrier at the end: drop #stay ==> #arrive-empty #load-b
// deadlock: stages are released in the same block only: `lane < CLUSTER` -> `lane == rank` ==> #wait-empty
#include <cuda.h>
#include <cuda_bf16.h>

typedef unsigned long long Barrier;

constexpr int BM = 64, BN = 64, BK = 64, STAGES = 3, CLUSTER = 2, WARPS = 4;
constexpr int TX = (BM + BN) * BK * sizeof(__nv_bfloat16); // bytes that arrive in a stage of each block

struct Shared {
    __nv_bfloat16 a[STAGES][BM * BK], b[STAGES][BN * BK]; // rows of 128 bytes, swizzled
    Barrier full[STAGES], empty[STAGES];
};

// Instructions in several places are macros, so that each use has its own line.
#define INIT(barrier, count) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory")
#define EXPECT(barrier, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes) : "memory")
#define WAIT(barrier, parity) \
    asm volatile("{\n.reg .pred done;\n" \
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n" \
                 "@!done bra again;\n}" ::"r"(address(&barrier)), "r"(parity) : "memory")
#define ARRIVE_REMOTE(barrier, rank) \
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n" \
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" \
                 ::"r"(address(&barrier)), "r"(rank) : "memory")
#define TMA_LOAD(to, map, x, y, barrier) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes " \
                 "[%0], [%1, {%2, %3}], [%4];" \
                 ::"r"(address(to)), "l"(&map), "r"(x), "r"(y), "r"(address(&barrier)) : "memory")
#define MULTICAST(to, map, x, y, barrier, blocks) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster " \
                 "[%0], [%1, {%2, %3}], [%4], %5;" \
                 ::"r"(address(&to)), "l"(&map), "r"(x), "r"(y), "r"(address(&barrier)), "h"((short)blocks) : "memory")
#define CLUSTER_BARRIER() \
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory")

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

// A tile of rows of 128 bytes, swizzled by 128 bytes: 1024 bytes from eight rows to the next eight.
__device__ __forceinline__ unsigned long long descriptor(const void *tile)
{
    return 1ull << 62 | 1024ull / 16 << 32 | 1ull << 16 | (address(tile) & 0x3ffff) / 16;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define WGMMA(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
                 "%32, %33, 1, 1, 1, 0, 0;" : D16(0), D16(16) : "l"(a), "l"(b))

extern "C" __global__ void __cluster_dims__(1, CLUSTER, 1) __launch_bounds__((WARPS + 1) * 32)
    cluster_multicast(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float *C,
                      int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, steps = k / BK;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));

    if (thread == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            INIT(shared.full[stage], 1);                // #init-full: this block's copying thread
            INIT(shared.empty[stage], CLUSTER * WARPS); // #init-empty: every multiplying warp of the cluster
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    CLUSTER_BARRIER(); // #initialised

    if (warp == WARPS) {
        if (lane == 0)
            for (int step = 0; step < steps; step++) {
                const int stage = step % STAGES, half = rank * BN / CLUSTER;
                if (step >= STAGES)
                    WAIT(shared.empty[stage], (step / STAGES - 1) % 2); // #wait-empty
                EXPECT(shared.full[stage], TX); // #expect
                TMA_LOAD(shared.a[stage], a_map, step * BK, row0, shared.full[stage]); // #load-a
                // Half of B's tile, to the same place in both blocks; the other block brings the other half.
                MULTICAST(shared.b[stage][half * BK], b_map, step * BK, column0 + half, shared.full[stage], 0b11); // #load-b
            }
    } else {
        float d[BN / 2] = {};
        for (int step = 0; step < steps; step++) {
            const int stage = step % STAGES;
            WAIT(shared.full[stage], step / STAGES % 2); // #wait-full
            const unsigned long long a = descriptor(shared.a[stage]), b = descriptor(shared.b[stage]); // #descriptors
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // #fence
            for (int p = 0; p < BK; p += 16)
                WGMMA(d, a + p * 2 / 16, b + p * 2 / 16); // #wgmma
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); // #commit
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-wgmma
            if (lane < CLUSTER)
                ARRIVE_REMOTE(shared.empty[stage], lane); // #arrive-empty
        }
        for (int j = 0; j < BN / 8; j++) {
            const int row = row0 + warp * 16 + lane / 4, column = column0 + j * 8 + lane % 4 * 2;
            *(float2 *)&C[row * n + column] = make_float2(d[j * 4], d[j * 4 + 1]); // #store
            *(float2 *)&C[(row + 8) * n + column] = make_float2(d[j * 4 + 2], d[j * 4 + 3]);
        }
    }
    CLUSTER_BARRIER(); // #stay: the other block still arrives at this one's mbarriers
}
