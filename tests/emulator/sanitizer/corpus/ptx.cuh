// PTX as macros, so that a hazard's line is the one that uses it.
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define ASM(text) asm volatile(text ::: "memory")
#define FENCE_PROXY ASM("fence.proxy.async.shared::cta;")
#define CLUSTER_SYNC ASM("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;")

#define INIT(bar, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(bar)), "r"(n) : "memory")
#define INVAL(bar) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(AT(bar)) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(AT(bar)) : "memory")
#define ARRIVE_THERE(bar) \
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory")
#define ADD_THERE(order, place) \
    asm volatile("red." order ".cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(place) : "memory")
#define READ_THERE(type, letter, value, place) \
    asm volatile("ld.shared::cluster." type " %0, [%1];" : "=" letter(value) : "r"(place) : "memory")
#define EXPECT(bar, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(AT(bar)), "r"(bytes) : "memory")
#define WAIT_AS(form, bar, parity) \
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity" form ".shared::cta.b64 p, [%0], %1;" \
                 " @!p bra again; }" \
                 :: "r"(AT(bar)), "r"(parity) : "memory")
#define WAIT(bar, parity) WAIT_AS("", bar, parity)

#define COPY(kind, to, from, bytes) asm volatile("cp.async." kind ".shared.global [%0], [%1], " bytes ";" \
    :: "r"(AT(to)), "l"(from) : "memory")
#define COPY_SIZED(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(AT(to)), "l"(from), "r"(bytes) : "memory")
#define BULK_LOAD(to, from, bytes, bar) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
                 :: "r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(bar)) : "memory")
#define SEND_THERE(place, value, bar) \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" \
                 :: "r"(place), "r"(value), "r"(bar) : "memory")
#define COPY_THERE(place, from, bytes, bar) \
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
                 :: "r"(place), "r"(AT(from)), "r"(bytes), "r"(bar) : "memory")
#define COPY_TO_SEVERAL(to, from, bytes, bar, mask) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" \
                 " [%0], [%1], %2, [%3], %4;" \
                 :: "r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(bar)), "h"((unsigned short)(mask)) : "memory")
#define BULK_STORE_AS(form, to, from) \
    asm volatile("cp." form " [%0], [%1], 256; cp.async.bulk.commit_group;" :: "l"(to), "r"(AT(from)) : "memory")
#define BULK_STORE(to, from) BULK_STORE_AS("async.bulk.global.shared::cta.bulk_group", to, from)
#define BULK_ADD(to, from) BULK_STORE_AS("reduce.async.bulk.global.shared::cta.bulk_group.add.f32", to, from)

#define WGMMA(d, a, b, add, sign) \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" \
                 " {%0, %1, %2, %3}, %4, %5, add, 1, " sign ", 0, 0; }" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)), "r"(add))
#define WGMMA_WAIT(d, count) asm volatile("wgmma.wait_group.sync.aligned " count ";" \
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]))
#define STORE_TILE(C, d) \
    float* mine = C + (threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4) * 8 + threadIdx.x % 4 * 2; \
    mine[0] = d[0]; mine[1] = d[1]; mine[64] = d[2]; mine[65] = d[3]

__device__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ unsigned in_block(unsigned rank, const void* p) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(p)), "r"(rank));
    return there;
}
__device__ unsigned long long descriptor(const void* p) { // core matrices without a swizzle, 128 and 256 bytes apart
    return (AT(p) & 0x3FFFF) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}
