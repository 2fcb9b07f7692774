// A warpgroup multiplies tiles of 64x64 that TMA fetches, swizzled by 128 bytes; B is stored by columns. In a CLUSTER of
// two, above each other, each block fetches half of B's tile for both. If C is STORED, it goes through shared memory:
// stmatrix brings it there, and TMA to global memory.

#include <cuda_fp16.h>

constexpr int TILE = 64, TILE_BYTES = TILE * TILE * 2;

struct alignas(64) Map {
    unsigned long long words[16];
};

__device__ unsigned shared(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void fetch(void* tile, const Map* map, int x, int y, void* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(shared(tile)), "l"(map), "r"(x), "r"(y), "r"(shared(barrier)) : "memory");
}

__device__ void fetch_for_all(void* tile, const Map* map, int x, int y, void* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(shared(tile)), "l"(map), "r"(x), "r"(y), "r"(shared(barrier)),
                    "h"(static_cast<unsigned short>((1 << CLUSTER) - 1)) : "memory");
}

__device__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// A tile whose rows have 128 bytes, eight of them 1024, with chunks swizzled by 128 bytes.
__device__ unsigned long long descriptor(const void* tile)
{
    return (shared(tile) & 0x3FFFF) >> 4 | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;
}

__device__ void multiply(float* d, unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
                 " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21,"
                 " %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                   "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

__device__ unsigned pair(float low, float high)
{
    const half2 both = __floats2half2_rn(low, high);
    return reinterpret_cast<const unsigned&>(both);
}

extern "C" __global__ void wgmma(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b,
#if STORED
                                 const __grid_constant__ Map map_c, int n, int k)
#else
                                 float* C, int n, int k)
#endif
{
    __shared__ __align__(1024) half a[TILE * TILE];
    __shared__ __align__(1024) half b[TILE * TILE];
    __shared__ unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool leader = threadIdx.x == 0;
    if (leader) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    float sum[32] = {};
    for (int start = 0, phase = 0; start < k; start += TILE, phase ^= 1) {
        if (CLUSTER > 1)
            cluster_barrier();  // nobody of the cluster needs the tiles before any more
        if (leader) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(shared(&full)), "r"(2 * TILE_BYTES) : "memory");
            fetch(a, &map_a, start, blockIdx.y * TILE, &full);
            if (CLUSTER > 1) {
                const int first = blockIdx.y % CLUSTER * (TILE / CLUSTER);
                fetch_for_all(b + first * TILE, &map_b, start, blockIdx.x * TILE + first, &full);
            } else {
                fetch(b, &map_b, start, blockIdx.x * TILE, &full);
            }
        }
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(shared(&full)), "r"(phase) : "memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int p = 0; p < TILE; p += 16)
            multiply(sum, descriptor(a + p), descriptor(b + p));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
#if STORED
    // A warp has 16 rows: two matrices above each other for every eight columns.
    for (int j = 0; j < 8; j += 2) {
        const int row = warp * 16 + lane % 16, chunk = (j + lane / 16) ^ row % 8;
        const float* s = sum + 4 * j;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(shared(a + row * TILE + chunk * 8)), "r"(pair(s[0], s[1])), "r"(pair(s[2], s[3])),
                        "r"(pair(s[4], s[5])), "r"(pair(s[6], s[7])) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (leader) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&map_c), "r"(blockIdx.x * TILE), "r"(blockIdx.y * TILE), "r"(shared(a)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
#else
    for (int i = 0; i < 32; ++i) {
        const int row = blockIdx.y * TILE + warp * 16 + lane / 4 + i / 2 % 2 * 8;
        C[row * n + blockIdx.x * TILE + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
    }
#endif
    if (CLUSTER > 1)
        cluster_barrier();
}
