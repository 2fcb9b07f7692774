// A thread reads what another has written to shared memory; a barrier of the warp may be between.
// launch: block=64
// no barrier, its own element: drop #barrier, DISTANCE `0` ==> nothing
// no barrier, of one warp: drop #barrier, DISTANCE `1` ==> shared-race*64 shared #read #write "reads element" "with no
//     barrier"
// a barrier of the warp: BARRIER `__syncwarp();`, DISTANCE `1` ==> nothing
// a barrier of the warp, another warp: BARRIER `__syncwarp();`, DISTANCE `32` ==> shared-race*64 shared #read #write
//     "reads element" "with no barrier"
// a barrier of the block: BARRIER `__syncthreads();`, DISTANCE `1|32` ==> nothing
// its half: BARRIER `__syncwarp(HALF);|if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);`, DISTANCE
//     `15` ==> nothing
// the other half, another warp: BARRIER `__syncwarp(HALF);`, DISTANCE `16|32` ==> shared-race*64 shared #read #write
// halves apart, the other half: BARRIER `if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);`, DISTANCE
//     `31` ==> shared-race*64 shared #read #write
// all in the end: BARRIER `if (t % 32 < 16) __syncwarp(); else __syncwarp();|if (t % 32 < 16) __syncwarp(0xffff);
//     __syncwarp();|__syncwarp(); __syncwarp(HALF);`, DISTANCE `31` ==> nothing
// half of a warp, then the block: BARRIER `__syncwarp(HALF); __syncthreads();`, DISTANCE `63` ==> nothing
// half of a warp alone: BARRIER `if (t < 16) __syncwarp(0xffff);`, DISTANCE `1` ==> shared-race*48 shared #read #write
// one warp of two: BARRIER `if (t < 32) __syncwarp();`, DISTANCE `1` ==> shared-race*32 shared #read #write "thread
//     (32, 0) of block (0, 0) reads"
// a last warp that is not full [block=40]: BARRIER `__syncwarp();|if (t >= 38) return; __syncwarp();`, DISTANCE `1` ==>
//     nothing
// threads that the mask does not name: BARRIER `__syncwarp(0x0000ffff);`, DISTANCE `1` ==> divergent-barrier*32
//     #barrier "thread (16, 0) of" "with the mask 0x0000ffff, which does not name it"; shared-race*32 shared #read
//     #write "thread (16, 0) of block (0, 0) reads"
// a thread that the mask names and that does not come [block=32]: BARRIER `if (t < 8) __syncwarp(0x1ff); // #mask`,
//     `C[t]` -> `__syncthreads(); C[t]`, DISTANCE `1` ==> deadlock*8 #mask "thread (0, 0) of" "with the mask
//     0x000001ff, and not all lanes that the mask names arrive"; deadlock*24 #read
// a read of all and a store behind a barrier of the last warp: BARRIER `__syncthreads();`, `tile[t ^ DISTANCE];` ->
//     `tile[0]; __syncwarp(); if (t == 63) tile[0] = 0;` ==> shared-race*1 shared #read #read "thread (31, 0) of block
//     (0, 0) reads"
// a shuffle from lanes that take no part: drop #write, drop #read, BARRIER `float x = A[t], y = x; if (t % 32 < 16) y =
//     __shfl_xor_sync(HALF, x, 16); C[t] = y;` ==> uninitialized-read*32 C #barrier #barrier "gets the value of a lane"
// a shuffle from such lanes, unused: drop #write, drop #read, BARRIER `float x = A[t], y = x; if (t % 32 < 16) y =
//     __shfl_down_sync(HALF, x, 8); C[t] = t % 32 < 8 ? y : x;` ==> nothing
#define HALF t % 32 < 16 ? 0x0000ffffu : 0xffff0000u
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = A[t]; // #write
    BARRIER // #barrier
    C[t] = tile[t ^ DISTANCE]; // #read
}
