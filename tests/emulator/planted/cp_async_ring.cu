// C = A·B, float16 inputs, float32 C: tiles come by cp.async into a ring of three stages; ldmatrix, mma.sync.
// read too early: one group more stays in flight: `STAGES - 2)` -> `STAGES - 1)` ==> #read-a #read-b
// read too early: copies in the loop are not committed: drop #commit ==> #read-a #read-b
// overwrite in flight: the next copies begin before the barrier: move #barrier after #load-next ==> #copy #copy-a
//     #copy-b #read-a #read-b
// deadlock: one warp skips the barrier: if `warp < 3` #barrier ==> #barrier
// harmless: every copy is waited for: `"n"(STAGES - 2)` -> `"n"(0)` ==> nothing
#include <cuda_fp16.h>

constexpr int BM = 64, BN = 64, BK = 32, STAGES = 3, THREADS = 128;

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory"); // #copy
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void cp_async_ring(const __half *A, const __half *B, float *C, int m, int n, int k)
{
    // Eight more elements in a row keep ldmatrix's rows in different banks.
    __shared__ __align__(16) __half a_tile[STAGES][BM][BK + 8], b_tile[STAGES][BK][BN + 8];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, steps = k / BK;
    const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;

    auto load = [&](int step) {
        const int stage = step % STAGES;
        for (int i = thread; i < BM * BK / 8; i += THREADS) {
            const int row = i / (BK / 8), column = i % (BK / 8) * 8;
            copy16(&a_tile[stage][row][column], &A[(row0 + row) * k + step * BK + column]); // #copy-a
        }
        for (int i = thread; i < BK * BN / 8; i += THREADS) {
            const int row = i / (BN / 8), column = i % (BN / 8) * 8;
            copy16(&b_tile[stage][row][column], &B[(step * BK + row) * n + column0 + column]); // #copy-b
        }
    };

    float sums[2][4][4] = {};
    for (int step = 0; step < STAGES - 1; step++) {
        load(step);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int step = 0; step < steps; step++) {
        // Of the STAGES - 1 newest groups only the last may still be under way: this step's tiles are there.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); // #wait
        __syncthreads(); // #barrier
        // The barrier also says that every warp is done with the stage before, which is filled next.
        if (step + STAGES - 1 < steps)
            load(step + STAGES - 1); // #load-next
        asm volatile("cp.async.commit_group;" ::: "memory"); // #commit

        const int stage = step % STAGES;
        for (int p = 0; p < BK; p += 16) {
            unsigned a[2][4], b[4][2];
            for (int i = 0; i < 2; i++) {
                const unsigned from = address(&a_tile[stage][warp_row + i * 16 + lane % 16][p + lane / 16 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" // #read-a
                             : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(from) : "memory");
            }
            for (int j = 0; j < 4; j++) {
                const unsigned from = address(&b_tile[stage][p + lane % 16][warp_column + j * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" // #read-b
                             : "=r"(b[j][0]), "=r"(b[j][1]) : "r"(from) : "memory");
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    mma(sums[i][j], a[i], b[j]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            const int row = row0 + warp_row + i * 16 + lane / 4, column = column0 + warp_column + j * 8 + lane % 4 * 2;
            *(float2 *)&C[row * n + column] = make_float2(sums[i][j][0], sums[i][j][1]);
            *(float2 *)&C[(row + 8) * n + column] = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}
