// Copies one box to shared memory, and from there to a second array.
struct __align__(64) Map { unsigned long long words[16]; };
extern "C" __global__ void f(const unsigned char *memory, unsigned char *out, const __grid_constant__ Map map) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned into = (unsigned)__cvta_generic_to_shared(tile), at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], NBYTES;" :: "r"(at) : "memory");
        asm volatile("cp.async.bulk.tensor.COPY"
                     :: "r"(into), "l"(&map), "r"(at) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(at) : "memory");
    for (int i = threadIdx.x; i < NBYTES; i += blockDim.x) out[i] = tile[i];
}
