// The second block of a cluster copies a column of pixels to the shared memory of both.
struct __align__(64) Map { unsigned long long words[16]; };
extern "C" __global__ void f(const unsigned *memory, unsigned *out, const __grid_constant__ Map map) {
    extern __shared__ __align__(1024) unsigned tile[];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned into = (unsigned)__cvta_generic_to_shared(tile), at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 176;" :: "r"(at) : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && blockIdx.x == 1)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
                     ".multicast::cluster.L2::cache_hint [%0], [%1, {4, 1, 0, 0}], [%2], {%3, %4}, %5, %6;"
                     :: "r"(into), "l"(&map), "r"(at), "h"((unsigned short)1), "h"((unsigned short)2),
                        "h"((unsigned short)3), "l"(0ull) : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(at) : "memory");
    for (int i = threadIdx.x; i < 44; i += blockDim.x) out[44 * blockIdx.x + i] = tile[i];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
