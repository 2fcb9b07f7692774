// Bodies of a kernel with an array in shared memory, each in place of BODY.
// launch: block=32
// neighbouring bytes: BODY `unsigned char* bytes = (unsigned char*)tile; bytes[t] = t; C[t] = bytes[t];` ==> nothing
// a vector and one of its elements: BODY `((float4*)tile)[t] = ((const float4*)A)[t]; // #write`, THEN `C[t] = tile[t +
//     3];` ==> shared-race*30 shared #then #write "thread (2, 0) of" "reads element 5 of tile, which thread (1, 0) of
//     block (0, 0) writes"
// a thread that a warp's barrier has put in order: BODY `if (t == 0) s[0] = A[0]; __syncthreads();`, THEN `C[t] = s[0];
//     // #all`, LAST `if (t < 16) __syncwarp(0xffff); if (t == 5) s[0] = A[1];` ==> shared-race*1 shared #last #all
//     "thread (5, 0) of" "which thread (16, 0) of block (0, 0) reads at"
// an element that no thread wrote [grid=3]: BODY `if (t < 30) tile[t] = A[t]; __syncthreads();`, THEN `C[t + 32 *
//     blockIdx.x] = tile[t];` ==> uninitialized-read*6 shared #then "thread (30, 0) of" "reads element 30 of tile,
//     where nothing has been written"
// another block's shared memory [grid=2]: BODY `if (blockIdx.x == 0) tile[t] = A[0]; __syncthreads();`, THEN `C[t + 32
//     * blockIdx.x] = tile[t];` ==> uninitialized-read*32 shared #then "of block (1, 0)"
// an element behind the array: BODY `tile[t] = A[0]; tile[t + n + 65] = A[1];`, THEN `C[t] = tile[t];` ==>
//     out-of-bounds-write*1 shared #body
extern "C" __global__ void f(const float* A, float* C, int n) {
    __shared__ __align__(16) float tile[128];
    volatile float* s = tile;
    const int t = threadIdx.x;
    BODY // #body
    THEN // #then
    LAST // #last
}
