// C = A·B, bfloat16, B by columns: a warp copies by cp.async and arrives on mbarriers, four others multiply by mma.sync.
// read too early: the arrival does not wait for the copies: `COPIES_ARRIVE(full` -> `ARRIVE(full` ==> #read-a
//     #read-b #arrive-full
// overwrite in flight: the second round of stage 0 does not wait until it is empty: `step >= STAGES` -> `step >
//     STAGES` ==> #copy-a #copy-b #read-a #read-b
// phase: empty has the other parity: `(step / STAGES - 1) % 2` -> `step / STAGES % 2` ==> #wait-empty #copy-a
//     #copy-b
// barrier count: full expects one arrival instead of the warp's: `INIT(full[stage], 32)` -> `INIT(full[stage], 1)`
//     ==> #init-full #arrive-full
#include <cuda_bf16.h>

typedef unsigned long long Barrier;

constexpr int BM = 64, BN = 64, BK = 32, STAGES = 3, WARPS = 4;

// Instructions in several places are macros, so that each use has its own line.
#define INIT(barrier, count) \
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(&barrier)) : "memory")
#define COPIES_ARRIVE(barrier) \
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&barrier)) : "memory")
#define WAIT(barrier, parity) \
    asm volatile("{\n.reg .pred done;\n" \
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n" \
                 "@!done bra again;\n}" ::"r"(address(&barrier)), "r"(parity) : "memory")
#define COPY(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory")

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void
    cp_async_mbarrier(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int m, int n, int k)
{
    __shared__ __align__(16) __nv_bfloat16 a_tile[STAGES][BM][BK + 8], b_tile[STAGES][BN][BK + 8];
    __shared__ Barrier full[STAGES], empty[STAGES];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, steps = k / BK;

    if (threadIdx.x == 0)
        for (int stage = 0; stage < STAGES; stage++) {
            INIT(full[stage], 32);     // #init-full: every thread of the copying warp
            INIT(empty[stage], WARPS); // #init-empty: one thread of every other warp
        }
    __syncthreads(); // #initialised

    if (warp == WARPS) {
        for (int step = 0; step < steps; step++) {
            const int stage = step % STAGES;
            if (step >= STAGES)
                WAIT(empty[stage], (step / STAGES - 1) % 2); // #wait-empty
            for (int i = lane; i < BM * BK / 8; i += 32) {
                const int row = i / (BK / 8), column = i % (BK / 8) * 8;
                COPY(&a_tile[stage][row][column], &A[(row0 + row) * k + step * BK + column]); // #copy-a
            }
            for (int i = lane; i < BN * BK / 8; i += 32) {
                const int row = i / (BK / 8), column = i % (BK / 8) * 8;
                COPY(&b_tile[stage][row][column], &B[(column0 + row) * k + step * BK + column]); // #copy-b
            }
            // Each thread arrives when its copies have landed.
            COPIES_ARRIVE(full[stage]); // #arrive-full
        }
        return;
    }

    const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int step = 0; step < steps; step++) {
        const int stage = step % STAGES;
        WAIT(full[stage], step / STAGES % 2); // #wait-full
        for (int p = 0; p < BK; p += 16) {
            unsigned a[2][4], b[4][2];
            for (int i = 0; i < 2; i++) {
                const unsigned from = address(&a_tile[stage][warp_row + i * 16 + lane % 16][p + lane / 16 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" // #read-a
                             : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(from) : "memory");
            }
            for (int j = 0; j < 4; j++) {
                const unsigned from = address(&b_tile[stage][warp_column + j * 8 + lane % 8][p + lane / 8 % 2 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" // #read-b
                             : "=r"(b[j][0]), "=r"(b[j][1]) : "r"(from) : "memory");
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    mma(sums[i][j], a[i], b[j]);
        }
        __syncwarp();
        if (lane == 0)
            ARRIVE(empty[stage]); // #arrive-empty
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            const int row = row0 + warp_row + i * 16 + lane / 4, column = column0 + warp_column + j * 8 + lane % 4 * 2;
            *(__nv_bfloat162 *)&C[row * n + column] = __floats2bfloat162_rn(sums[i][j][0], sums[i][j][1]);
            *(__nv_bfloat162 *)&C[(row + 8) * n + column] = __floats2bfloat162_rn(sums[i][j][2], sums[i][j][3]);
        }
}
