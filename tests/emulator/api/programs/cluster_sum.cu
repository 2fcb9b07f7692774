// Each block adds up the elements that all blocks of its cluster have in shared memory.
// given: x = random().integers(-99, 99, (2, 4, 32), np.int32); sums = np.zeros_like(x)
// launch: cluster_sum<<<8, 32>>>(x, sums)
// expect: sums = np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape)
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
