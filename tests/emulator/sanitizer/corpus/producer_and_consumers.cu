// A producer warp copies tiles in bulk for consumer warps; one mbarrier counts bytes, the other one the consumers.
// launch: block=96 n=16
// right
// a phase waited for twice: `WAIT(&full, step % 2)` -> `WAIT(&full, 0)` ==> deadlock*1 #wait-empty #init-empty;
//     phase-waited-twice*64 shared #wait-full
// the other parity: `WAIT(&full, step % 2)` -> `WAIT(&full, step % 2 ^ 1)` ==> early-wait*64 shared #wait-full "full";
//     uninitialized-read*64 shared #read; deadlock*1 #wait-empty #init-empty; deadlock*64 #wait-full #init-full
// a phase never waited for: drop #wait-full ==> uninitialized-read*64 shared #read; deadlock*1 #wait-empty #init-empty
// no wait for an empty buffer: drop #wait-empty ==> mbarrier-misuse*1 shared #expect; unfinished-copy*1 shared #copy
//     #copy; deadlock*64 #wait-full #init-full
// the other parity of a refill: `WAIT(&empty, step % 2 ^ 1)` -> `if (step) WAIT(&empty, step % 2)` ==>
//     early-wait*1 shared #wait-empty "empty"; mbarrier-misuse*1 shared #expect; unfinished-copy*1 shared #copy #copy;
//     deadlock*64 #wait-full #init-full
// an arrival before the read: `sum += tile[63 - t];` -> `ARRIVE(&empty); sum += tile[63 - t];`, drop #arrive ==>
//     shared-race*1 shared #copy #read
// no barrier behind mbarrier.init: drop #made ==> shared-race*1 shared #wait-empty #init-empty; shared-race*1 shared
//     #expect #init-full; shared-race*63 shared #wait-full #init-full; shared-race*63 shared #arrive #init-empty
// mbarriers made anew: `ROUNDS 1` -> `ROUNDS 2` ==> nothing
// no barrier before an mbarrier is given up: `ROUNDS 1` -> `ROUNDS 2`, drop #used ==> shared-race*1 shared #inval
//     #wait-full "gives up element"; shared-race*1 shared #inval #arrive
// an mbarrier made where one is: `ROUNDS 1` -> `ROUNDS 2`, drop #inval ==> mbarrier-misuse*1 shared #init-full "without
//     mbarrier.inval"; mbarrier-misuse*1 shared #init-empty
// an mbarrier made by two threads: `MAKERS 1` -> `MAKERS 2` ==> mbarrier-misuse*1 shared #init-full "without
//     mbarrier.inval"; mbarrier-misuse*1 shared #init-empty; benign-race*2 shared #init-full;
//     benign-race*2 shared #init-empty
#include "ptx.cuh"
#define ROUNDS 1
#define MAKERS 1
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ __align__(128) float tile[64];
    __shared__ unsigned long long full, empty;
    const int t = threadIdx.x;
    for (int round = 0;; ++round) {
        if (t < MAKERS) {
            INIT(&full, 1); // #init-full
            INIT(&empty, 64); // #init-empty
            ASM("fence.mbarrier_init.release.cluster;");
        }
        __syncthreads(); // #made
        if (t >= 64) {
            for (int step = 0; step < 3 && t == 64; ++step) {
                WAIT(&empty, step % 2 ^ 1); // #wait-empty
                EXPECT(&full, 256); // #expect
                BULK_LOAD(tile, A + step * 64, 256, &full); // #copy
            }
        } else {
            float sum = 0;
            for (int step = 0; step < 3; ++step) {
                WAIT(&full, step % 2); // #wait-full
                sum += tile[63 - t]; // #read
                ARRIVE(&empty); // #arrive
            }
            C[round * 64 + t] = sum;
        }
        if (round == ROUNDS - 1) break;
        __syncthreads(); // #used
        if (t == 0) { INVAL(&full); INVAL(&empty); } // #inval
        __syncthreads();
    }
}
