// ladder.f64.03_ring: warps that do not wait for each other.
//
// In 02_dmma all warps wait at each tile's barrier, until the slowest has read its part of the last one and the copies
// of all have come, and then begin the next together. Each quarter of the multiprocessor has two warps only, and its
// tensor core idles while both wait. Here a stage of tiles has two barriers that count, as in bf16_09_ring.cu. It is
// full when the copies of all threads have come, and a warp waits for nothing else before it reads; it is empty when all
// threads have read it, which one has to know before it copies to it, half a tile later. So a warp may be ahead of
// another by that, and multiplies while the other one waits.

#include "hopper.cuh"

#define OTHER_STAGES
class Stages {
    static constexpr int SIZE = BM * BK + BK * BN;
    unsigned stage = 0, phase = 0;  // that is read, and whether the ring was gone round an odd number of times

    // The barriers lie behind the stages.
    __device__ static Barrier* full(unsigned of)
    {
        extern __shared__ __align__(128) double stages[];
        return reinterpret_cast<Barrier*>(stages + STAGES * SIZE) + of;
    }
    __device__ static Barrier* empty(unsigned of) { return full(STAGES + of); }

    // The stage so many further on, and its phase.
    __device__ void go(unsigned steps, unsigned& to, unsigned& of) const
    {
        const bool around = stage + steps >= STAGES;
        to = around ? stage + steps - STAGES : stage + steps;
        of = phase ^ around;
    }
    __device__ void let_go()
    {
        arrive(empty(stage));
        go(1, stage, phase);
    }

public:
    static constexpr int FETCH_STEP = BK / 16;  // in the middle of a tile
    int read = 0;

    __device__ Stages()
    {
        if (threadIdx.x < 2 * STAGES)
            make_barrier(full(threadIdx.x), blockDim.x);
        __syncthreads();
    }
    __device__ int begin_copies(int ahead) const
    {
        unsigned to, of;
        go(ahead, to, of);
        wait(empty(to), of ^ 1);
        return to * SIZE;
    }
    __device__ void end_copies(int ahead) const
    {
        unsigned to, of;
        go(ahead, to, of);
        arrive_with_copies(full(to));
    }
    __device__ void wait_for_first() const { wait(full(stage), phase); }
    __device__ void wait_for_next()
    {
        let_go();
        wait_for_first();
        read = stage * SIZE;
    }
    // Copies that nobody reads have to have come, too, before the barriers are given up.
    __device__ void end()
    {
        let_go();
        for (int left = 0; left < STAGES - 2; ++left) {
            wait_for_first();
            let_go();
        }
        __syncthreads();
        if (threadIdx.x < 2 * STAGES)
            give_up(full(threadIdx.x));
    }
};

#include "f64_02_dmma.cu"
