// Volatile variables order nothing, except for a thread that waits for a value in a loop.
// launch: block=64
// another lane's element compared: BODY `v[t] = A[t]; if (v[t ^ 1] > 1e30f) sum = 1;` ==> shared-race*64 shared #body
//     #body "before Volta"
// another warp's element compared: BODY `v[t] = A[t]; if (v[t ^ 32] > 1e30f) sum = 1;` ==> shared-race*64 shared #body
//     #body "with no barrier between them"
// a barrier between: BODY `v[t] = A[t]; SYNC; if (v[t ^ 1] > 1e30f) sum = 1;`, `SYNC` -> `__syncwarp()|__syncthreads()`
//     ==> nothing
// a thread's own element: BODY `v[t] = A[t]; if (v[t] > 1e30f) sum = v[t];` ==> nothing
// the largest of a warp [block=32]: BODY `v[t] = A[t]; for (int d = 16; d; d /= 2) { if (t < d && v[t] < v[t + d]) v[t]
//     = v[t + d]; SYNC; }`, `SYNC;` -> `` ==> shared-race shared #body #body "before Volta"
// the largest of a warp, with barriers [block=32]: BODY `v[t] = A[t]; __syncwarp(); for (int d = 16; d; d /= 2) { float
//     x = t < d ? v[t + d] : 0; __syncwarp(); if (t < d && v[t] < x) v[t] = x; __syncwarp(); }` ==> nothing
// elements up to the first zero: BODY `v[t] = A[t];`, THEN `for (int p = 0; p < 64 && v[p] != 0; ++p) sum += v[p];` ==>
//     shared-race shared #then #body
// a flag read once: BODY `if (t == 0) flag = 1;`, THEN `if (t == 32 && flag) sum = 1;` ==> shared-race*1 shared #then
//     #body
// a flag awaited: BODY `if (t == 0) { v[1] = A[0]; FENCE; flag = 1; }`, THEN `if (t == 32) { WAITS; FENCE; sum = v[1];
//     }`, FENCE `__threadfence_block()`, WAITS `while (flag == 0);|do; while (!flag);|for (int tries = 0; flag != 1 &&
//     tries < 1000; ++tries);|while (true) if (flag) break; else __nanosleep(9);|await(&flag);|bool done = false; while
//     (!done) if (flag == 1) done = true;|int seen = flag; for (; !seen; seen = flag);` ==> nothing
// a flag awaited, with a fence at one side: BODY `if (t == 0) { v[1] = A[0]; flag = 1; }`, THEN `if (t == 32) { while
//     (flag == 0); __threadfence_block(); sum = v[1]; }` ==> shared-race*1 shared #then #body
// a flag awaited, with a fence at the other side: BODY `if (t == 0) { v[1] = A[0]; __threadfence_block(); flag = 1; }`,
//     THEN `if (t == 32) { while (flag == 0); sum = v[1]; }` ==> shared-race*1 shared #then #body
// flags of all warps: BODY `if (t % 32 == 0) { v[t] = A[t]; __threadfence_block(); flags[t / 32] = 1; }`, THEN `if (t ==
//     1) { WAITS; __threadfence_block(); sum = v[0] + v[32]; }`, WAITS `for (int i = 0; i < 2; ++i) while
//     (!flags[i]);|for (int i = 0; i < 2; i += flags[i] != 0);|int n; do { n = 0; for (int i = 0; i < 2; ++i) n +=
//     flags[i]; } while (n < 2);|for (int i = 0; i < 2;) if (flags[i]) ++i;|int j =
//     1; while (j >= 0) { int seen = flags[j]; if (seen == 0) continue; sum += seen; --j; }` ==> nothing
// a flag awaited by a thread for its block [block=96]: BODY `if (t >= 64 && t < 96) { if (t == 64) { v[1] = A[0];
//     __threadfence_block(); flag = 1; } return; }`, THEN `bool set; do set = SEES; while (!set);
//     __threadfence_block(); sum = v[1];`, SEES `__all_sync(~0u, flag)|__shfl_sync(~0u, flag, 0)` ==>
//     nothing
// a flag through shared memory: BODY `if (t == 63) { v[1] = A[0]; __threadfence_block(); flag = 1; }`, THEN `do { if (t
//     == 0) { seen = flag; __threadfence_block(); } __syncthreads(); } while (!again(seen)); sum = v[1];` ==> nothing
#include "ptx.cuh"
__device__ void await(volatile int* flag) { while (*flag == 0); }
__device__ int again(const volatile int& seen) { int now = seen; __syncthreads(); return now; }
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ volatile float v[96];
    __shared__ volatile int flag, flags[2], seen;
    const int t = threadIdx.x;
    float sum = 0;
    if (t == 0) flag = flags[0] = flags[1] = 0;
    __syncthreads();
    BODY // #body
    THEN // #then
    C[t] = sum;
}
