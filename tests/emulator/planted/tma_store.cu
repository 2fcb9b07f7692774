// C = A·B, float16, B by columns: blocks that stay for several tiles of C, which leave by stmatrix and TMA stores.
// overwrite in flight: the last store may still read the tile of C: `wait_group.read 0` -> `wait_group.read 1` ==>
//     #write-c #store-c
// overwrite in flight: only the storing thread waits until the tile of C is free: drop #c-free ==> #write-c
//     #store-c
// overwrite in flight: the store is not committed: drop #commit-c ==> #write-c #store-c
// overwrite in flight: the block ends while its last store may still read: drop #wait-c ==> #store-c
// fence.proxy.async: no proxy fence between stmatrix and the TMA store: drop #fence-c ==> #write-c #store-c
// wgmma.fence: wgmma.fence in the first tile only: if `tile == blockIdx.x` #fence ==> #wgmma
// wgmma.wait_group: no wgmma.wait_group: drop #wait-wgmma ==> #write-c #packed #wgmma
// phase: the parity does not change: drop #toggle ==> #wait-full #wait-empty
// transaction count: 16 bytes too many are expected: `full[stage], TX` -> `full[stage], TX + 16` ==> #expect
//     #wait-full
// descriptor: B's descriptor steps over rows instead of along k: `&shared.b[stage][p]` -> `&shared.b[stage][p *
//     BK]` ==> #wgmma
// barrier count: bar.sync counts the copying warp, which never arrives: `WARPS * 32); // #c-written` -> `(WARPS +
//     1) * 32); // #c-written` ==> #c-written
// barrier count: bar.sync counts half of the threads: `WARPS * 32); // #c-written` -> `WARPS * 16); // #c-written`
//     ==> #c-written #store-c #write-c
// harmless: the store has also written C before the tile is reused: `wait_group.read 0` -> `wait_group 0` ==>
//     nothing
#include <cuda.h>
#include <cuda_fp16.h>

typedef unsigned long long Barrier;

constexpr int BM = 64, BN = 64, BK = 64, STAGES = 4, WARPS = 4;
constexpr int TX = (BM + BN) * BK * sizeof(__half); // bytes that arrive in a stage

struct Shared {
    __half a[STAGES][BM * BK], b[STAGES][BN * BK], c[BM * BN]; // rows of 128 bytes, swizzled
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
#define MULTIPLIERS_BARRIER(threads) asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory")

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

// A tile of rows of 128 bytes, swizzled by 128 bytes: 1024 bytes from eight rows to the next eight.
__device__ __forceinline__ unsigned long long descriptor(const void *tile)
{
    return 1ull << 62 | 1024ull / 16 << 32 | 1ull << 16 | (address(tile) & 0x3ffff) / 16; // #descriptor
}

__device__ __forceinline__ unsigned packed(float low, float high)
{
    const __half2 both = __floats2half2_rn(low, high); // #packed
    return *(const unsigned *)&both;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define WGMMA(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
                 "%32, %33, 1, 1, 1, 0, 0;" : D16(0), D16(16) : "l"(a), "l"(b))

extern "C" __global__ void __launch_bounds__((WARPS + 1) * 32)
    tma_store(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
              const __grid_constant__ CUtensorMap c_map, int m, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int steps = k / BK, columns = n / BN, tiles = m / BM * columns;

    if (thread == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            INIT(shared.full[stage], 1);  // #init-full: the copying thread; its copies count bytes
            INIT(shared.empty[stage], 1); // #init-empty: one of the multiplying threads
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // #fence-init
    }
    __syncthreads(); // #initialised

    int stage = 0, phase = 0;
    auto advance = [&] {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1; // #toggle
        }
    };
    if (warp == WARPS) {
        if (lane == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int step = 0; step < steps; step++) {
                    WAIT(shared.empty[stage], phase ^ 1); // #wait-empty: at once in the first round
                    EXPECT(shared.full[stage], TX); // #expect
                    TMA_LOAD(shared.a[stage], a_map, step * BK, tile / columns * BM, shared.full[stage]); // #load-a
                    TMA_LOAD(shared.b[stage], b_map, step * BK, tile % columns * BN, shared.full[stage]); // #load-b
                    advance();
                }
        return;
    }
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float d[BN / 2] = {};
        for (int step = 0; step < steps; step++) {
            WAIT(shared.full[stage], phase); // #wait-full
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // #fence
            for (int p = 0; p < BK; p += 16)
                WGMMA(d, descriptor(&shared.a[stage][p]), descriptor(&shared.b[stage][p])); // #wgmma
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-wgmma
            if (thread == 0)
                ARRIVE(shared.empty[stage]); // #arrive-empty
            advance();
        }
        if (thread == 0)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // #wait-read: the last tile has left c
        MULTIPLIERS_BARRIER(WARPS * 32); // #c-free
        for (int j = 0; j < BN / 8; j += 2) {
            // Four 8×8 matrices: upper and lower rows of eight columns, then of the next eight.
            const int row = warp * 16 + lane % 16, chunk = j + lane / 16;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" // #write-c
                         ::"r"(address(shared.c) + row * 128 + (chunk ^ row % 8) * 16),
                           "r"(packed(d[j * 4], d[j * 4 + 1])), "r"(packed(d[j * 4 + 2], d[j * 4 + 3])),
                           "r"(packed(d[j * 4 + 4], d[j * 4 + 5])), "r"(packed(d[j * 4 + 6], d[j * 4 + 7])) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // #fence-c
        MULTIPLIERS_BARRIER(WARPS * 32); // #c-written
        if (thread == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" // #store-c
                         ::"l"(&c_map), "r"(tile % columns * BN), "r"(tile / columns * BM), "r"(address(shared.c))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // #commit-c
        }
    }
    if (thread == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); // #wait-c
}
