// The threads of two blocks add to the same counters, and read one of them.
// launch: grid=2 block=64 cluster=2 n=16
// right
// two clusters [grid=4] ==> nothing
// no barrier of the cluster: `CLUSTER_SYNC; // all` -> `__syncthreads();` ==> shared-race*128 shared #read #add
// no barriers of two clusters [grid=4]: `CLUSTER_SYNC; // all` -> `__syncthreads();` ==> shared-race*256 shared #read
//     #add
#include "ptx.cuh"
extern "C" __global__ void f(unsigned* C) {
    __shared__ unsigned count;
    if (threadIdx.x == 0) count = 0;
    CLUSTER_SYNC;
    for (unsigned other = 0; other < 2; ++other)
        ADD_THERE("relaxed", in_block(other, &count)); // #add
    CLUSTER_SYNC; // all
    C[blockIdx.x * blockDim.x + threadIdx.x] = count; // #read
    if (count != 128) __trap(); // #wrong
    CLUSTER_SYNC;
}
