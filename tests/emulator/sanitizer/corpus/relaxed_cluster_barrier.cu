// Cluster barriers with relaxed arrivals: fences release what threads write, and the mbarrier that thread 0 makes.
// launch: grid=4 block=64 cluster=2 n=16
// right
// no fence before a relaxed arrival: drop #written ==> shared-race*256 shared #there #write "with no order between";
//     shared-race*256 shared #here #write
// no fence between mbarrier.init and a relaxed arrival: drop #made ==> shared-race*256 shared #arrive #init
#include "ptx.cuh"
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* C) {
    __shared__ unsigned mine[64];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x;
    const unsigned other = cluster_rank() ^ 1;
    unsigned got;
    if (t == 0) {
        INIT(&bar, 64); // #init
        ASM("fence.mbarrier_init.release.cluster;"); // #made
    }
    ASM("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;");
    ARRIVE_THERE(in_block(other, &bar)); // #arrive
    mine[t] = t; // #write
    ASM("fence.acq_rel.cluster;"); // #written
    ASM("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;");
    READ_THERE("u32", "r", got, in_block(other, mine + 63 - t)); // #there
    got += mine[63 - t]; // #here
    ASM("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;");
    C[blockIdx.x * 64 + t] = got;
}
