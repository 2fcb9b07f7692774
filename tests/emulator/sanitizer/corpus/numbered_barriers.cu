// Two warps write tiles for two others, and wait for each other at numbered barriers.
// launch: block=128 m=16 n=8 k=16
// right
// a barrier of half the threads: `bar.sync 2, 128` -> `bar.sync 2, 64` ==> shared-race*64 shared #write #read;
//     barrier-count*64 #read-all
// a barrier of more threads than come: `ASM("bar.sync 1, 128;"); // #given` -> `ASM("bar.sync 1, 160;"); // #given` ==>
//     deadlock*64 #taken; deadlock*64 #given
// a barrier of other counts: `ASM("bar.sync 2, 128;"); // #taken` -> `ASM("bar.sync 2, 96;"); // #taken` ==>
//     barrier-count*64 #taken
// a barrier with different counts: `bar.arrive 1, 128` -> `bar.arrive 1, 160` ==> barrier-count*64
//     #given "another number of threads"
// no barrier before the next tile: drop #taken ==> barrier-count*64 #arrive "has arrived before"; deadlock*64 #given
#include "ptx.cuh"
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ float tile[64];
    const int t = threadIdx.x % 64;
    for (int step = 0; step < 2; ++step)
        if (threadIdx.x < 64) {
            tile[t] = A[step * 64 + t]; // #write
            ASM("bar.arrive 1, 128;"); // #arrive
            ASM("bar.sync 2, 128;"); // #taken
        } else {
            ASM("bar.sync 1, 128;"); // #given
            C[step * 64 + t] = tile[63 - t]; // #read
            ASM("bar.sync 2, 128;"); // #read-all
        }
}
