// Threads wait for each other's elements of a tile by relaxed operations on an mbarrier, with fences.
// launch: block=64 n=8
// right
// no fence before a relaxed arrival at an mbarrier: drop #written ==> shared-race*64 shared #read #write
// no fence behind a relaxed wait for an mbarrier: drop #seen ==> shared-race*64 shared #read #write
#include "ptx.cuh"
extern "C" __global__ void f(float* C) {
    __shared__ float tile[64];
    __shared__ unsigned long long full;
    const int t = threadIdx.x;
    if (t == 0) INIT(&full, 64);
    __syncthreads();
    tile[t] = t; // #write
    ASM("fence.acq_rel.cta;"); // #written
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(AT(&full)) : "memory");
    WAIT_AS(".relaxed.cta", &full, 0);
    ASM("fence.acq_rel.cta;"); // #seen
    C[t] = tile[63 - t]; // #read
}
