// One warp: cp.async brings tiles of A and B into two buffers, ldmatrix loads them, mma multiplies them.
// given: A_OF_64, B_OF_64, zeros((16, 8), f32)
// launch: architecture="90a", options=("--define-macro=VARIANT",)
// with VARIANT, WHOLE: RIGHT -> True | NO_WAIT -> False | SHORT_WAIT -> False | NO_GROUP -> False
// with VARIANT, WHOLE: NOT_TRANSPOSED -> False | HALF_A_TILE -> False
// np.array_equal(R, P.astype(f64) @ Q.astype(f64)) = WHOLE
#ifdef NO_WAIT
#define WAIT(PENDING)
#else
#define WAIT(PENDING) asm volatile("cp.async.wait_group " PENDING ";")
#endif
#ifdef SHORT_WAIT
#define LATER "2"
#else
#define LATER "1"
#endif
#ifdef HALF_A_TILE
#define HALF(T) 0
#else
#define HALF(T) (T % 2 * 8)
#endif
#ifdef NOT_TRANSPOSED
#define TRANS ""
#else
#define TRANS ".trans"
#endif
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(16) unsigned short a[2][16 * 16], b[2][16 * 8];
    const int t = threadIdx.x;
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    auto fetch = [&](int tile) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(at(&a[tile % 2][t * 8])), "l"(A + (t / 2) * 64 + tile * 16 + HALF(t)));
        if (t < 16)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                         :: "r"(at(&b[tile % 2][t * 8])), "l"(B + (tile * 16 + t) * 8), "r"(16));
#ifndef NO_GROUP
        asm volatile("cp.async.commit_group;");
#endif
    };
    fetch(0);
    for (int tile = 0; tile < 4; ++tile) {
        if (tile < 3) fetch(tile + 1);
        if (tile < 3) WAIT(LATER); else WAIT("0");
        __syncwarp();
        unsigned a0, a1, a2, a3, b0, b1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at(&a[tile % 2][t % 16 * 16 + t / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0, %1}, [%2];"
                     : "=r"(b0), "=r"(b1) : "r"(at(&b[tile % 2][t % 16 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                     " {%0, %1, %2, %3};"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        __syncwarp();
    }
    float* mine = C + t / 4 * 8 + t % 4 * 2;
    mine[0] = c0; mine[1] = c1; mine[64] = c2; mine[65] = c3;
}
