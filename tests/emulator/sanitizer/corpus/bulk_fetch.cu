// What threads have written to global memory comes back in bulk: a piece for each lane of a warp.
// launch: block=128 m=16 n=8 k=8 work=512
// right
// no barrier before a copy of global memory: drop #written ==> global-race*32 work #copy #write "reads 16 bytes"
// no fence before a copy of global memory: drop #fence ==> missing-proxy-fence*32 work #copy #write "threads have
//     written at"
// a fence of shared memory before a copy of global memory: `fence.proxy.async;` -> `fence.proxy.async.shared::cta;` ==>
//     missing-proxy-fence*32 work #copy #write
// fewer bytes expected than the lanes of a warp copy: `EXPECT(&full, 512)` -> `EXPECT(&full, 256)` ==>
//     mbarrier-misuse*16 shared #copy "expects fewer bytes"
#include "ptx.cuh"
extern "C" __global__ void f(float* work, float* C) {
    __shared__ __align__(128) float tile[128];
    __shared__ unsigned long long full;
    const int t = threadIdx.x;
    if (t == 0) {
        INIT(&full, 1);
        ASM("fence.mbarrier_init.release.cluster;");
        EXPECT(&full, 512);
    }
    __syncthreads();
    work[t] = t; // #write
    ASM("fence.proxy.async;"); // #fence
    __syncthreads(); // #written
    if (t < 32) BULK_LOAD(tile + 4 * t, work + 4 * t, 16, &full); // #copy
    WAIT(&full, 0); // #wait
    C[t] = tile[127 - t]; // #read
}
