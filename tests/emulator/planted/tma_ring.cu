// C = A·B, float16 inputs, float32 C, B by columns: TMA fills a ring of three stages, two warpgroups multiply by wgmma.
// read too early: every step waits for stage 0: `full[stage], step` -> `full[0], step` ==> #wgmma
// overwrite in flight: the stage is released before wgmma ends: move #wait-wgmma after #arrive-empty ==> #load-a
//     #load-b #wgmma #arrive-empty
// fence.proxy.async: no proxy fence after mbarrier.init: drop #fence-init ==> #init-full #load-a #load-b
// wgmma.fence: no wgmma.fence after the zeros: drop #fence ==> #wgmma
// wgmma.wait_group: one group stays in flight: `wait_group.sync.aligned 0` -> `wait_group.sync.aligned 1` ==>
//     #store #wgmma
// phase: the parity of full stays 0: `full[stage], step / STAGES % 2` -> `full[stage], 0` ==> #wait-full
// transaction count: the bytes of B are not expected: `full[stage], TX` -> `full[stage], BM * BK * 2` ==> #expect
//     #load-a #load-b #wait-full
// descriptor: a swizzle of 64 bytes: `1ull << 62` -> `2ull << 62` ==> #wgmma
// barrier count: empty expects one warpgroup: `empty[stage], WARPGROUPS` -> `empty[stage], 1` ==> #init-empty
//     #arrive-empty #load-a #load-b
// barrier missing: the mbarriers are used before they are initialised: drop #initialised ==> #init-full #init-empty
//     #wait-full #expect
// deadlock: one warpgroup does not release stages: `thread % 128 == 0` -> `thread == 0` ==> #wait-empty
// deadlock: bytes are expected without an arrival: `EXPECT(shared.full[stage], TX)` -> `asm
//     volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"::"r"(address(&shared.full[stage])),
//     "r"(TX) : "memory")` ==> #wait-full
// harmless: wgmma.fence after the zeros, but not between products of the same shape: if `step == 0` #fence ==>
//     nothing
// harmless: another thread of the warpgroup releases the stage: `thread % 128 == 0` -> `thread % 128 == 64` ==>
//     nothing
// harmless: two stages: `STAGES = 3` -> `STAGES = 2` ==> nothing
#include <cuda.h>
#include <cuda_fp16.h>

typedef unsigned long long Barrier;

constexpr int BM = 128, BN = 64, BK = 64, STAGES = 3, WARPGROUPS = 2;
constexpr int TX = (BM + BN) * BK * sizeof(__half); // bytes that arrive in a stage

struct Shared {
    __half a[STAGES][BM * BK], b[STAGES][BN * BK]; // rows of 128 bytes, swizzled
    Barrier full[STAGES], empty[STAGES];
};

// Instructions in several places are macros, so that each use has its own line.
#define INIT(barrier, count) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&barrier)) : "memory")
#define EXPECT(barrier, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes) : "memory")
#define WAIT(barrier, parity) \
    asm volatile("{\n.reg .pred done;\n" \
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n" \
                 "@!done bra again;\n}" ::"r"(address(&barrier)), "r"(parity) : "memory")
#define TMA_LOAD(to, map, x, y, barrier) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes " \
                 "[%0], [%1, {%2, %3}], [%4];" \
                 ::"r"(address(to)), "l"(&map), "r"(x), "r"(y), "r"(address(&barrier)) : "memory")

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

// A tile of rows of 128 bytes, swizzled by 128 bytes: 1024 bytes from eight rows to the next eight.
__device__ __forceinline__ unsigned long long descriptor(const void *tile)
{
    return 1ull << 62 | 1024ull / 16 << 32 | 1ull << 16 | (address(tile) & 0x3ffff) / 16;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define WGMMA(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
                 "%32, %33, 1, 1, 1, 0, 0;" : D16(0), D16(16) : "l"(a), "l"(b))

extern "C" __global__ void __launch_bounds__((WARPGROUPS * 4 + 1) * 32)
    tma_ring(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float *C, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, steps = k / BK;

    if (thread == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            INIT(shared.full[stage], 1);           // #init-full: the copying thread; its copies count bytes
            INIT(shared.empty[stage], WARPGROUPS); // #init-empty: one thread of each warpgroup
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // #fence-init
    }
    __syncthreads(); // #initialised

    if (warp == WARPGROUPS * 4) {
        if (lane == 0)
            for (int step = 0; step < steps; step++) {
                const int stage = step % STAGES;
                if (step >= STAGES)
                    WAIT(shared.empty[stage], (step / STAGES - 1) % 2); // #wait-empty
                EXPECT(shared.full[stage], TX); // #expect
                TMA_LOAD(shared.a[stage], a_map, step * BK, row0, shared.full[stage]); // #load-a
                TMA_LOAD(shared.b[stage], b_map, step * BK, column0, shared.full[stage]); // #load-b
            }
        return;
    }

    const int warpgroup = warp / 4;
    float d[BN / 2] = {};
    for (int step = 0; step < steps; step++) {
        const int stage = step % STAGES;
        WAIT(shared.full[stage], step / STAGES % 2); // #wait-full
        const unsigned long long a = descriptor(&shared.a[stage][warpgroup * 64 * BK]); // #descriptor-a
        const unsigned long long b = descriptor(shared.b[stage]); // #descriptor-b
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // #fence
        for (int p = 0; p < BK; p += 16)
            WGMMA(d, a + p * 2 / 16, b + p * 2 / 16); // #wgmma
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-wgmma
        if (thread % 128 == 0)
            ARRIVE(shared.empty[stage]); // #arrive-empty
    }
    for (int j = 0; j < BN / 8; j++) {
        const int row = row0 + warp * 16 + lane / 4, column = column0 + j * 8 + lane % 4 * 2;
        *(float2 *)&C[row * n + column] = make_float2(d[j * 4], d[j * 4 + 1]); // #store
        *(float2 *)&C[(row + 8) * n + column] = make_float2(d[j * 4 + 2], d[j * 4 + 3]);
    }
}
