// What a bulk copy has written to global memory is read by others of the block, and written again.
// launch: block=64 n=8
// right
// a wait until a store has read, and no more: `wait_group 0` -> `wait_group.read 0` ==> global-race*1 C #store #write
//     "while that is under way"; global-race*1 C #store #read; uninitialized-read*64 C #read
#include "ptx.cuh"
extern "C" __global__ void f(float* C) {
    __shared__ __align__(128) float tile[64];
    tile[threadIdx.x] = threadIdx.x;
    FENCE_PROXY;
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(C, tile); // #store
        ASM("cp.async.bulk.wait_group 0;");
    }
    __syncthreads();
    const float other = ((volatile float*)C)[63 - threadIdx.x]; // #read
    __syncthreads();
    C[threadIdx.x] = other; // #write
    __syncthreads();
}
