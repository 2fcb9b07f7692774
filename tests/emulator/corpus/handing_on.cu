// A producer waits for a bulk copy's signal and passes tiles to consumers.
// given: STEPS, zeros(64, f32)
// launch: block=(96,), architecture="90a"
// with BYTES, FULL, READERS, WHOLE, WAITING, MISUSE: 256 -> init(&full, "1") -> "64" -> True -> nothing -> nothing
// with BYTES, FULL, READERS, WHOLE, WAITING, MISUSE: 512 -> init(&full, "1") -> "64" -> False -> deadlock at line 14 -> nothing
// with BYTES, FULL, READERS, WHOLE, WAITING, MISUSE: 256 -> init(&full, "1") -> "65" -> False -> deadlock at line 14 -> deadlock at line 14
// with BYTES, FULL, READERS, WHOLE, WAITING, MISUSE: 256 -> init(&full, "1") -> "8" -> False -> deadlock at line 14 -> deadlock at line 14
// with BYTES, FULL, READERS, WHOLE, WAITING, MISUSE: 256 -> 0 -> "64" -> False -> deadlock at line 14 -> mbarrier-misuse at line 14
// expect: WAITING
// expect: MISUSE
// np.array_equal(Q, P.sum(axis=0)[::-1]) = WHOLE
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void await(unsigned long long* bar, int parity) {
    asm volatile("{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;"
                 " @done bra DONE; bra WAIT; DONE: }" :: "r"(at(bar)), "r"(parity) : "memory");
}
#define init(BAR, COUNT) asm volatile("mbarrier.init.shared::cta.b64 [%0], " COUNT ";" :: "r"(at(BAR)))
extern "C" __global__ void f(const float* in, float* out) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long full, empty;
    const int t = threadIdx.x;
    if (t == 0) {
        FULL;
        init(&empty, READERS);
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (t >= 64) {
        for (int step = 0; step < 3 && t == 64; ++step) {
            await(&empty, step % 2 ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], BYTES;" :: "r"(at(&full)));
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                         :: "r"(at(tile)), "l"(in + step * 64), "r"(at(&full)));
        }
    } else {
        float sum = 0;
        for (int step = 0; step < 3; ++step) {
            await(&full, step % 2);
            sum += tile[63 - t];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty)));
        }
        out[t] = sum;
    }
}
