// Threads hand each other elements in turns by an mbarrier that expects as many arrivals as there are threads.
// launch: block=64
// right
// half the arrivals: `&bar, 64` -> `&bar, 32` ==> shared-race*32 shared #read #write
// one arrival more: `&bar, 64` -> `&bar, 65` ==> deadlock*64 #meet #init
// one thread of each warp: `&bar, 64` -> `&bar, 2`, `MEET; // #meet` -> `__syncwarp(); if (t % 32 == 0) MEET;
//     __syncwarp();`, `MEET; // #met` -> `__syncthreads();` ==> nothing
#include "ptx.cuh"
#define MEET { \
    unsigned long long state; \
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(AT(&bar)) : "memory"); \
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.shared::cta.b64 p, [%0], %1; @!p bra again; }" \
                 :: "r"(AT(&bar)), "l"(state) : "memory"); }
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ float s[64];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x;
    float sum = 0;
    if (t == 0) INIT(&bar, 64); // #init
    __syncthreads();
    for (int step = 0; step < 3; ++step) {
        s[t] = A[t + step]; // #write
        MEET; // #meet
        sum += s[63 - t]; // #read
        MEET; // #met
    }
    C[t] = sum;
}
