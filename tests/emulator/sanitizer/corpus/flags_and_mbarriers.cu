// Block 0 writes, block 1 reads, block 0 writes again. Flags order that, and mbarriers within block 1.
// launch: grid=2 block=64 n=2 flags=8*0
// right
// no wait for the mbarrier of the write: drop #wait-written ==> global-race*1 C #read #first
// no wait for the mbarrier of the read: drop #wait-read ==> global-race*1 C #read #second; trap*128 #wrong;
//     overwritten-output*1 C #second
// no wait for the flag of the write: drop #await-written ==> global-race*1 C #read #first
// no wait for the flag of the read: drop #await-read ==> global-race*1 C #read #second; trap*128 #wrong;
//     overwritten-output*1 C #second
#include "ptx.cuh"
__device__ void raise(unsigned* flag) { asm volatile("st.release.gpu.u32 [%0], 1;" :: "l"(flag) : "memory"); }
__device__ void await(const unsigned* flag) {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
}
extern "C" __global__ void f(unsigned* C, unsigned* flags) {
    __shared__ __align__(8) unsigned long long written, read;
    if (threadIdx.x == 0) {
        INIT(&written, 1);
        INIT(&read, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        C[0] = 1; // #first
        raise(flags);
        await(flags + 1); // #await-read
        C[0] = 2; // #second
    } else if (threadIdx.x == 0) {
        await(flags); // #await-written
        ARRIVE(&written);
        WAIT(&read, 0); // #wait-read
        raise(flags + 1);
    } else if (threadIdx.x == 32 && blockIdx.x == 1) {
        WAIT(&written, 0); // #wait-written
        C[1] = C[0]; // #read
        ARRIVE(&read);
    }
}
extern "C" __global__ void verify(unsigned* C) {
    if (C[0] != 2 || C[1] != 1) __trap(); // #wrong
}
