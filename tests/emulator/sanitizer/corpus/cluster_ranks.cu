// Accesses to the block of rank RANK of a cluster of two blocks: ``there`` is a word of it, ``its_bar`` its mbarrier.
// launch: grid=4 cluster=2 n=12 work=64*0
// a block that is there: RANK `1`, ACCESS `0` ==> nothing
// a read: ACCESS `0`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-read*4 #read /rank (2|5|30 or more) of its
//     cluster, which has/
// a write: ACCESS `1`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-write*4 #write /rank (2|5|30 or more) of its
//     cluster, which has/
// an addition: ACCESS `2`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-write*4 #add /rank (2|5|30 or more) of its
//     cluster, which has/
// an arrival: ACCESS `3`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-write*4 #arrive /rank (2|5|30 or more) of its
//     cluster, which has/
// a store that is sent: ACCESS `4`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-write*4 #send /rank (2|5|30 or more)
//     of its cluster, which has/
// a bulk copy: ACCESS `5`, RANK `2u|5u|31u|4294967295u` ==> out-of-bounds-write*4 #copy /rank (2|5|30 or more) of its
//     cluster, which has/
// a copy to several: ACCESS `6`, RANK `1` ==> out-of-bounds-write*4 shared #several "rank 2 of its cluster, which has"
#include "ptx.cuh"
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* C, unsigned* work) {
    __shared__ __align__(128) unsigned mine[32];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x, access = t == 0 ? ACCESS : -1;
    unsigned got = 0;
    mine[t] = t;
    if (t == 0) {
        INIT(&bar, 1);
        ASM("fence.mbarrier_init.release.cluster;");
    }
    FENCE_PROXY;
    CLUSTER_SYNC;
    const unsigned there = in_block(RANK, mine + t), its_bar = in_block(RANK, &bar);
    if (access == 0) READ_THERE("u32", "r", got, there); // #read
    if (access == 1) asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(t) : "memory"); // #write
    if (access == 2) ADD_THERE("relaxed", there); // #add
    if (access == 3) ARRIVE_THERE(its_bar); // #arrive
    if (access == 4) SEND_THERE(there, t, its_bar); // #send
    if (access == 5) COPY_THERE(there, mine, 16, its_bar); // #copy
    if (access == 6) COPY_TO_SEVERAL(mine, work, 16, &bar, 4); // #several
    ASM("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
    C[blockIdx.x * 32 + t] = got;
}
