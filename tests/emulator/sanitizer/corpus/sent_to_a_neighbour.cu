// Each block of two stores numbers in the other's shared memory by st.async, and adds them up there by red.async.
// launch: grid=2 cluster=2 n=8
// right
// no wait for what another block sends: drop #wait ==> unfinished-copy*64 shared #read #add; unfinished-copy*64 shared
//     #read #store; unawaited-copy*64 shared #store; unawaited-copy*64 shared #add
// fewer bytes expected than another block sends: `EXPECT(&got, 256)` -> `EXPECT(&got, 128)` ==> unfinished-copy*64
//     shared #read #add "reads sum"; unawaited-copy*64 shared #add
// fewer bytes expected than the lanes of a warp store: `EXPECT(&got, 256)` -> `EXPECT(&got, 64)` ==> mbarrier-misuse*32
//     shared #store "expects fewer bytes"; unfinished-copy*64 shared #read #add; unawaited-copy*64 shared #add
// fewer bytes expected than the lanes of a warp add: `EXPECT(&got, 256)` -> `EXPECT(&got, 252)` ==> mbarrier-misuse*2
//     shared #add "expects fewer bytes"
// no cluster barrier before another block sends: `CLUSTER_SYNC;` -> `__syncthreads();` ==> shared-race*64 shared #store
//     #init; shared-race*64 shared #add #sum; shared-race*64 shared #add #init
#include "ptx.cuh"
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* C) {
    __shared__ unsigned in[32], sum;
    __shared__ unsigned long long got;
    const int t = threadIdx.x;
    if (t == 0) {
        sum = 0; // #sum
        INIT(&got, 1); // #init
        EXPECT(&got, 256); // #expect
    }
    CLUSTER_SYNC;
    const unsigned other = cluster_rank() ^ 1, place = in_block(other, in + t), all = in_block(other, &sum);
    const unsigned its_bar = in_block(other, &got);
    SEND_THERE(place, t, its_bar); // #store
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32" // #add
                 " [%0], %1, [%2];" :: "r"(all), "r"(t), "r"(its_bar) : "memory");
    WAIT(&got, 0); // #wait
    C[blockIdx.x * 32 + t] = in[31 - t] + sum; // #read
}
