// Each block of a cluster reads what its neighbour has written, and must not end before the neighbour has read.
// launch: grid=6 block=1 cluster=2 n=4 initial_c=zeros
// right
// a block that leaves its cluster: drop #leave ==> cluster-exit*6 shared #read
// blocks that wait for ever: `/* waits */` -> `while (((volatile unsigned*)C)[blockIdx.x] == 0);` ==> deadlock*6 #waits
// a block of two that waits for ever: `/* waits */` -> `if (rank == 1) while (((volatile unsigned*)C)[blockIdx.x] ==
//     0);`, drop #leave ==> cluster-exit*3 shared #read "block (3, 0) (warp 0) accesses"; deadlock*3 #waits
#include "ptx.cuh"
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* C) {
    __shared__ unsigned mine;
    const unsigned rank = cluster_rank();
    unsigned got;
    mine = 100 + blockIdx.x;
    CLUSTER_SYNC;
    READ_THERE("u32", "r", got, in_block(rank ^ 1, &mine)); // #read
    /* waits */ // #waits
    ASM("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"); // #leave
    C[blockIdx.x] = got;
}
