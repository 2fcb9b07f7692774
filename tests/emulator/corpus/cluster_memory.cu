// A cluster reads its neighbours' memory.
// given: zeros(6, u32)
// launch: grid=(6,), block=(1,), architecture="90a", cluster=(2, 1, 1)
// P = [101, 100, 103, 102, 105, 104]
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ unsigned mine;
    unsigned rank, other, got;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    mine = 100 + blockIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"((unsigned)__cvta_generic_to_shared(&mine)),
        "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(other));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x] = got;
}
