// Each step of a loop stores a tile and reads it.
// launch: block=64
// right
// no barrier behind the reads: drop #end, `step < 4` -> `step < n` ==> shared-race*64 shared #store #read "in the next
//     iteration of the loop at line"
// no barrier behind the reads of an unrolled loop: drop #end ==> shared-race*64 shared #store #read "in the next
//     iteration of their loop"
// no barrier before the reads: drop #begin ==> shared-race*64 shared #read #store "of tile, which thread"
// two buffers without a barrier behind the reads: drop #end, `tile[0]` -> `tile[step % 2]` ==> nothing
extern "C" __global__ void f(const float* A, float* C, int n) {
    __shared__ float tile[2][64];
    const int t = threadIdx.x;
    float sum = 0;
    for (int step = 0; step < 4; ++step) {
        float* own = tile[0];
        own[t] = A[t + step]; // #store
        __syncthreads(); // #begin
        sum += own[63 - t]; // #read
        __syncthreads(); // #end
    }
    C[t] = sum;
}
