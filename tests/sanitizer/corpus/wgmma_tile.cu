// A warpgroup's product of matrices that its threads have written to shared memory.
// launch: block=128 m=64 n=8 k=16 dtype=float16 output=float32
// right
// no fence before a product: `FENCE_PROXY;` -> `` ==> missing-proxy-fence*1 shared #product #a; missing-proxy-fence*1
//     shared #product #b
// no wgmma.fence: `ASM("wgmma.fence.sync.aligned;");` -> `` ==> wgmma-order*128 #product #product
// no wgmma.wait_group: `ASM("wgmma.wait_group.sync.aligned 0;");` -> `` ==> wgmma-order*128 #stored #product
//     "wgmma.wait_group"
#include "ptx.cuh"
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    const int t = threadIdx.x;
    for (int i = t; i < 64 * 16; i += 128) a[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i]; // #a
    b[t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t]; // #b
    FENCE_PROXY;
    __syncthreads();
    float d[4] = {1, 1, 1, 1};
    ASM("wgmma.fence.sync.aligned;");
    WGMMA(d, a, b, 1, "-1"); // #product
    ASM("wgmma.commit_group.sync.aligned;");
    ASM("wgmma.wait_group.sync.aligned 0;");
    STORE_TILE(C, d); // #stored
}
