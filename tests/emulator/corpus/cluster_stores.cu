// A neighbour in the cluster gets stores, reductions and copies before its mbarrier completes, and not at once.
// with SEND, INITIAL: EACH("st.async.shared::cluster", "u32") -> 0 |
//     EACH("st.async.weak.shared::cluster", "b32") -> 0 |
//     EACH("red.async.relaxed.cluster.shared::cluster", "add.u32") -> 1000 | FOUR -> 0 |
//     ONE("cp.async.bulk.shared::cluster.shared::cta", "") -> 0 |
//     ONE("cp.reduce.async.bulk.shared::cluster.shared::cta", ".add.u32") -> 1000
// with WAIT, DONE: WAITING -> True | __syncwarp() -> False
// given: zeros(64, u32)
// launch: grid=(2,), block=(32,), architecture="90a", cluster=(2, 1, 1)
// P[t] = INITIAL + 100 * (t // 32 ^ 1) + t % 32 if DONE else 1000
#define EACH(name, kind) asm volatile(name ".mbarrier::complete_tx::bytes." kind " [%0], %1, [%2];" \
    :: "r"(there + 4 * t), "r"(100 * rank + t), "r"(told) : "memory")
#define ONE(name, kind) if (t == 0) asm volatile(name ".mbarrier::complete_tx::bytes" kind " [%0], [%1], 128, [%2];" \
    :: "r"(there), "r"(at(sent)), "r"(told) : "memory")
#define FOUR if (t % 4 == 0) \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" \
    :: "r"(there + 4 * t), "r"(sent[t]), "r"(sent[t + 1]), "r"(sent[t + 2]), "r"(sent[t + 3]), "r"(told) : "memory")
#define WAITING asm volatile("{ .reg .pred done;" \
    " AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0; @done bra DONE_;" \
    " bra AGAIN; DONE_: }" :: "r"(at(&bar)) : "memory")
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned mapped(unsigned address, unsigned rank) {
    unsigned found;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address), "r"(rank));
    return found;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ __align__(128) unsigned mine[32], sent[32];
    __shared__ unsigned long long bar;
    const unsigned t = threadIdx.x, rank = blockIdx.x;
    mine[t] = 1000; sent[t] = 100 * rank + t;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(at(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("fence.proxy.async.shared::cta; barrier.cluster.arrive.release.aligned;"
                 " barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const unsigned there = mapped(at(mine), rank ^ 1), told = mapped(at(&bar), rank ^ 1);
    SEND;
    WAIT;
    out[rank * 32 + t] = ((volatile unsigned*)mine)[t];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
