// The four warps of a warpgroup multiply a tile, which one thread refills.
// launch: block=160 m=64 n=8 k=16 dtype=float16 output=float32
// right
// a refill after the wait of one warp: drop #all ==> early-refill*1 shared #refill #product "another one of its
//     warpgroup"
// a refill by another warp: drop #all, `FILLER 0` -> `FILLER 96` ==> early-refill*1 shared #refill #product
// a barrier of two warps: `__syncthreads(); // #all` -> `if (t < 64) ASM("bar.sync 1, 64;");` ==>
//     early-refill*1 shared #refill #product
// a barrier of the warpgroup: `__syncthreads(); // #all` -> `if (t < 128) ASM("bar.sync 1, 128;");` ==> nothing
// no wait by the other warps: `WGMMA_WAIT(d, "0")` -> `if (t < 32) WGMMA_WAIT(d, "0")` ==> early-refill*1
//     shared #refill #product; wgmma-order #stored #product
// a thread arrives for its warpgroup: `__syncthreads(); // #all` -> `if (t == 64) ARRIVE(&empty);`, `FILLER 0` -> `FILLER
//     128`, `; // #await` -> `WAIT(&empty, step % 2);` ==> nothing
// a thread arrives before its wait: `WGMMA_WAIT(d, "0")` -> `if (t == 64) ARRIVE(&empty); WGMMA_WAIT(d, "0")`, drop #all,
//     `FILLER 0` -> `FILLER 128`, `; // #await` -> `WAIT(&empty, step % 2);` ==> overwritten-in-flight*1 shared
//     #refill #product "which wgmma of thread (0, 0) of block (0, 0) may still be reading: the writer has not waited for an arrival"
// a thread arrives, and its warpgroup waits behind the loop: `WGMMA_WAIT(d, "0")` -> `if (t == 64) ARRIVE(&empty)`, drop
//     #all, `FILLER 0` -> `FILLER 128`, `; // #await` -> `WAIT(&empty, step % 2);`, `{ STORE` -> `{ WGMMA_WAIT(d, "0");
//     STORE` ==> overwritten-in-flight*1 shared #refill #product
// a thread arrives, and its warpgroup waits for no group: `WGMMA_WAIT(d, "0")` -> `if (t == 64) ARRIVE(&empty);
//     WGMMA_WAIT(d, "1")`, drop #all, `FILLER 0` -> `FILLER 128`, `; // #await` -> `WAIT(&empty, step % 2);`, `{ STORE`
//     -> `{ WGMMA_WAIT(d, "0"); STORE` ==> overwritten-in-flight*1 shared #refill #product
// a fence of one warp behind the barrier: drop #fence, `; // #written` -> `; if (t == 0) FENCE_PROXY;` ==>
//     missing-proxy-fence shared #product "reads a "; missing-proxy-fence shared #product "reads b "
// a fence of each warp behind the barrier: drop #fence, `; // #written` -> `; if (t % 32 == 0) FENCE_PROXY;` ==> nothing
#include "ptx.cuh"
#define FILLER 0
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    __shared__ unsigned long long empty;
    const int t = threadIdx.x;
    float d[4] = {};
    if (t == 0) INIT(&empty, 1);
    for (int i = t; i < 1024; i += 160) a[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i];
    if (t < 128) b[t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t];
    for (int step = 0; step < 3; ++step) {
        FENCE_PROXY; // #fence
        __syncthreads(); // #written
        if (t < 128) {
            ASM("wgmma.fence.sync.aligned;");
            WGMMA(d, a, b, 1, "1"); // #product
            ASM("wgmma.commit_group.sync.aligned;");
            WGMMA_WAIT(d, "0");
        }
        __syncthreads(); // #all
        if (t == FILLER) {
            ; // #await
            a[0] = A[step]; // #refill
        }
    }
    if (t < 128) { STORE_TILE(C, d); } // #stored
}
