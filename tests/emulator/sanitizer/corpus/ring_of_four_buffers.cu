// A producer fills four buffers in turn, and two warps of consumers say which one is empty again.
// launch: block=96 n=32
// right
// one thread arrives for both warps: `INIT(&empty[i], 2)` -> `INIT(&empty[i], 1)`, `if (t % 32 == 0)` ->
//     `asm volatile("bar.sync 1, 64;"); if (t == 0)` ==> nothing
// the next buffer: `ARRIVE(&empty[at])` -> `ARRIVE(&empty[(at + 1) % 4])` ==> missed-phase*1 shared #wait-empty #arrive
//     "empty"
#include "ptx.cuh"
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ __align__(128) float tile[4][64];
    __shared__ unsigned long long full[4], empty[4];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 4; ++i) {
            INIT(&full[i], 1);
            INIT(&empty[i], 2);
        }
        ASM("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (t < 64) {
        float sum = 0;
        for (int step = 0; step < 8; ++step) {
            const int at = step % 4;
            WAIT(&full[at], step / 4 % 2);
            sum += tile[at][63 - t];
            __syncwarp();
            if (t % 32 == 0) ARRIVE(&empty[at]); // #arrive
        }
        C[t] = sum;
    } else if (t == 64) {
        for (int step = 0; step < 8; ++step) {
            const int at = step % 4;
            WAIT(&empty[at], step / 4 % 2 ^ 1); // #wait-empty
            EXPECT(&full[at], 256);
            BULK_LOAD(tile[at], A + step * 64, 256, &full[at]);
        }
    }
}
