// Each block adds up what all blocks of its cluster hold in their shared memory.
#include <cooperative_groups.h>

extern "C" __global__ void __cluster_dims__(4) cluster_sum(const int* x, int* sums)
{
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int own[32];
    own[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
#ifndef MISSING_CLUSTER_BARRIER
    cluster.sync();
#endif
    int sum = 0;
    for (int rank = 0; rank < 4; rank++) {
        const int* theirs = cluster.map_shared_rank(own, rank);
        sum += theirs[threadIdx.x];  // MISSING_CLUSTER_BARRIER: shared-race, MISSING_LAST_BARRIER: cluster-exit
    }
    sums[blockIdx.x * 32 + threadIdx.x] = sum;
#ifndef MISSING_LAST_BARRIER
    cluster.sync();  // a block must not end while others read its shared memory
#endif
}
