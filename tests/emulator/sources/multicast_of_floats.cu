// One block of each cluster of four copies 64 floats to the blocks in MASK, and 52 of them back to global memory.
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __cluster_dims__(4, 1, 1) f(const float* in, float* out) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long full;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(at(&full)));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 256, [%2], %3;"
                     :: "r"(at(tile)), "l"(in), "r"(at(&full)), "h"((unsigned short)MASK) : "memory");
    if (MASK >> rank & 1) {
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }"
                     :: "r"(at(&full)) : "memory");
        out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x];
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 1) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 208;"
                     :: "l"(out + 256 + blockIdx.x * 64 + 4), "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    }
}
