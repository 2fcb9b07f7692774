// Two products under way at a time, of tiles that take turns.
// launch: block=128 m=64 n=8 k=16 dtype=float16 output=float32
// right
// no fence before a product: drop #proxy ==> missing-proxy-fence*1 shared #product #a; missing-proxy-fence*1 shared
//     #product #b
// no wgmma.fence: drop #fence ==> wgmma-order*128 #product #loop
// no wgmma.wait_group: drop #last ==> wgmma-order*128 #stored #product "wgmma.wait_group"
// no wgmma.commit_group: drop #commit ==> overwritten-in-flight*128 shared #a #product "wgmma.commit_group is missing
//     after line"; overwritten-in-flight*128 shared #b #product "commit_group"; wgmma-order*128 #stored #product "commit_group"
// zeros for rows that are not copied, at A's own address: `COPY_A;` -> `COPY_SIZED(own + t / 16 * 128 + t % 2 * 64 + t
//     / 2 % 8 * 8, t < 80 ? A + t * 8 : A, t < 80 ? 16 : 0); ASM("cp.async.wait_all;");` ==> nothing
// copies without a fence of proxies: `COPY_A;` -> `COPY_SIZED(own + t / 16 * 128 + t % 2 * 64 + t / 2 % 8 * 8, A + t * 8,
//     16); ASM("cp.async.wait_all;");`, drop #proxy ==> unfenced-copy*1 shared #product #a; missing-proxy-fence*1 shared
//     #product #b
// a sum changed without wgmma.fence: `ASM("wgmma.fence.sync.aligned;");` -> `if (tile == 0)
//     ASM("wgmma.fence.sync.aligned;"); if (tile == 5) d[0] *= 2;` ==> wgmma-order*128 #fence #product; wgmma-order*128
//     #product #fence
// a sum read while it is made: `WGMMA_WAIT(d, "0")` -> `WGMMA_WAIT(d, "1")` ==> wgmma-order*128 #stored #product
// one buffer for two products: `a[tile % 2]` -> `a[0]` ==> overwritten-in-flight*128 shared #a #product
// a wait for too few products: `wait_group.sync.aligned 1;` -> `wait_group.sync.aligned 2;` ==>
//     overwritten-in-flight*128 shared #a #product; overwritten-in-flight*128 shared #b #product
// sums that were never set: `d[4] = {}` -> `d[4]` ==> uninitialized-read*128 C #product #stored "adds a product to
//     registers that were never set"
// sums that the first product does not add to: `d[4] = {}` -> `d[4]`, `b[tile % 2], 1,` -> `b[tile % 2], int(tile > 0),` ==>
//     nothing
// a warp that does not multiply: `WGMMA(d,` -> `if (t >= 32) WGMMA(d,` ==> divergent-wgmma*96 #product
#include "ptx.cuh"
#define COPY_A for (int i = t; i < 1024; i += 128) own[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i]
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[2][64 * 16], b[2][8 * 16];
    const int t = threadIdx.x;
    float d[4] = {};
    for (int tile = 0; tile < 6; ++tile) { // #loop
        unsigned short* own = a[tile % 2];
        COPY_A; // #a
        b[tile % 2][t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t]; // #b
        FENCE_PROXY; // #proxy
        __syncthreads();
        ASM("wgmma.fence.sync.aligned;"); // #fence
        WGMMA(d, own, b[tile % 2], 1, "1"); // #product
        ASM("wgmma.commit_group.sync.aligned;"); // #commit
        ASM("wgmma.wait_group.sync.aligned 1;");
        __syncthreads();
    }
    WGMMA_WAIT(d, "0"); // #last
    STORE_TILE(C, d); // #stored
}
