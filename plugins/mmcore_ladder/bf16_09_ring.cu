// The tensor cores wait while tiles are fetched, and fetching waits for the tensor cores. Now shared memory has a
// ring of STAGES pairs of tiles, and the warps have roles: one warpgroup, of which one thread works, the producer,
// fetches tiles as stages become empty; the others, the consumers, multiply as stages become full. Each stage has a
// barrier for either.
//
// A consumer lets a stage go when the products that read it are done: one step later, so that there is always a next
// one under way.

#define WGMMA_FORM "k16.f32.bf16.bf16"
#define WGMMA_MAJORS

#include "hopper.cuh"
#include "wgmma.cuh"
#include "epilogue.cuh"

constexpr int BK = 64, CONSUMERS = BM / 64;

struct Stage {
    __nv_bfloat16 a[BM * BK];
    __nv_bfloat16 b[BN * BK];
};

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS))
product(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, __nv_bfloat16* C, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage* const stages = reinterpret_cast<Stage*>(memory);
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES);
    Barrier* const empty = full + STAGES;
    const int top = blockIdx.y * BM, left = blockIdx.x * BN, warpgroup = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full + stage, 1);
            make_barrier(empty + stage, CONSUMERS);
        }
        publish_barriers();
    }
    __syncthreads();

    if (warpgroup == 0) {
        if (threadIdx.x == 0)
            for (int step = 0; step < k / BK; ++step) {
                const int stage = step % STAGES, phase = step / STAGES % 2;
                // In the first round nobody has anything to let go: the phase before the first counts as over.
                wait(empty + stage, phase ^ 1);
                expect(full + stage, sizeof(Stage));
                fetch(stages[stage].a, &map_a, step * BK, top, full + stage);
                fetch(stages[stage].b, &map_b, step * BK, left, full + stage);
            }
        return;
    }
    const int consumer = warpgroup - 1;
    float sum[BN / 2] = {};
    for (int step = 0; step < k / BK; ++step) {
        const int stage = step % STAGES, phase = step / STAGES % 2;
        wait(full + stage, phase);
        begin_products();
        for (int p = 0; p < BK; p += 16)
            multiply<0, 0>(sum, rows_along_k<128>(shared_address(stages[stage].a + consumer * 64 * BK + p)),
                           rows_along_k<128>(shared_address(stages[stage].b + p)), 1);
        commit_products();
        wait_for_products<1>();
        if (step > 0 && threadIdx.x % 128 == 0)
            arrive(empty + (step - 1) % STAGES);
    }
    wait_for_products<0>();
    store_sums(sum, C, n, top + consumer * 64, left);
}
