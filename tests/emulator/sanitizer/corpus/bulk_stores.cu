// Tiles go through shared memory and back by bulk copies, each thread's element doubled on the way.
// launch: block=64 n=16
// right
// the values: `i < 0` -> `i < 256` ==> nothing
// no wait for a store: drop #wait-read ==> overwritten-in-flight*64 shared #write #store
//     "cp.async.bulk.wait_group.read"
// a wait for too few stores: `read 1;` -> `read 2;` ==> overwritten-in-flight*64 shared #write #store
// no cp.async.bulk.commit_group: `BULK_STORE` -> `STORE_OF_NO_GROUP` ==> overwritten-in-flight*64 shared #write #store
//     "cp.async.bulk.commit_group is missing after line"; unawaited-store*1 shared #store "the copies belong to no group"
// no barrier behind the wait for a store: drop #read ==> overwritten-in-flight*63 shared #write #store
// no fence before a store: drop #fence ==> missing-proxy-fence*1 shared #store #write
// no barrier before a store: drop #written ==> shared-race*1 shared #store #write
// a tile at no multiple of its bytes: `tile[2][64]` -> `tile[2][128]`, `tile[step % 2]` -> `tile[step % 2] + 32` ==>
//     nothing
// no barrier before the store of such a tile: `tile[2][64]` -> `tile[2][128]`, `tile[step % 2]` -> `tile[step % 2] +
//     32`, drop #written ==> shared-race*1 shared #store #write
// a tile overwritten behind the wait for the reading: `i < 0` -> `i < 256`, `wait_group 0;");` -> `wait_group.read
//     0;"); __syncthreads(); tile[0][t] = tile[1][t] = -1;` ==> nothing
// no wait at all: `step < 4` -> `step < 1`, drop #wait-all, drop #wait-read ==> unawaited-store*1 shared #store
// blocks that store to the same place [grid=2] ==> global-race*1 C #store #store
// blocks that add to the same place [grid=2 beta=1.0]: `BULK_STORE` -> `BULK_ADD` ==> nothing
// blocks that add to what one of them writes [grid=2 beta=1.0]: `BULK_STORE` -> `BULK_ADD`, `float* mine` -> `if
//     (blockIdx.x == 0) C[step * 64] = 0; float* mine` ==> benign-race*64 C #first; global-race*1 C #store #first
// the values read back and overwritten: `// #end` -> `READ_BACK // #back` ==> nothing
// a wait until a store has read, and no more: `// #end` -> `READ_BACK // #back`, `wait_group 0` -> `wait_group.read 0`
//     ==> global-race*1 C #store #back "while that is under way"; uninitialized-read*64 C #back
// an alignment that is honoured: `__align__(128)` -> `__align__(1024)` ==> nothing
// an alignment that is not: `__align__(128)` -> `__align__(2048)` ==> misplaced-array*1 tile "tile asks for an
//     alignment of 2048 bytes and is at 0x400"
#include "ptx.cuh"
#define STORE_OF_NO_GROUP(to, from) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" \
    :: "l"(to), "r"(AT(from)) : "memory")
#define READ_BACK __syncthreads(); float x = ((volatile float*)C)[63 - t]; __syncthreads(); C[t] = x; __syncthreads();
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ __align__(128) float tile[2][64];
    const int t = threadIdx.x;
    for (int step = 0; step < 4; ++step) {
        float* mine = tile[step % 2]; // #first
        if (t == 0) ASM("cp.async.bulk.wait_group.read 1;"); // #wait-read
        __syncthreads(); // #read
        mine[t] = 2 * A[step * 64 + t]; // #write
        FENCE_PROXY; // #fence
        __syncthreads(); // #written
        if (t == 0) BULK_STORE(C + step * 64, mine); // #store
    }
    if (t == 0) ASM("cp.async.bulk.wait_group 0;"); // #wait-all
    // #end
}
extern "C" __global__ void verify(const float* A, const float* C) {
    for (int i = threadIdx.x; i < 0; i += 64)
        if (C[i] != 2 * A[i]) __trap();
}
