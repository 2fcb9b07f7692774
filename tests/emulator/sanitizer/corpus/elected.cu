// One thread of each warp counts its warp as done with an mbarrier, and the last one makes the mbarrier invalid.
// launch: block=64 n=8
// right
// no thread elected for all: `__match_any_sync(__activemask(), 1)` -> `__ballot_sync(__activemask(), 1)` ==>
//     shared-race*1 shared #inval #arrive "gives up"
#include "ptx.cuh"
extern "C" __global__ void f(int* C) {
    __shared__ unsigned long long full;
    __shared__ int left;
    const int t = threadIdx.x;
    if (t == 0) {
        left = 64;
        INIT(&full, 64);
    }
    __syncthreads();
    ARRIVE(&full); // #arrive
    WAIT(&full, 0); // #wait
    const unsigned mates = __match_any_sync(__activemask(), 1);
    if (t % 32 == __ffs(mates) - 1) {
        int before;
        asm volatile("fence.sc.cta; atom.acquire.cta.shared.add.u32 %0, [%1], -32;"
                     : "=r"(before) : "r"(AT(&left)) : "memory");
        if (before == 32) INVAL(&full); // #inval
    }
    C[t] = t;
}
