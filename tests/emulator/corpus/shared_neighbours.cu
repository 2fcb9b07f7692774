// A shared array ends at its own end, not where the next array does, and begins at its own start.
// with INDEX, EXPECTED: first[threadIdx.x + out[0] + 8] ->
//     thread (24, 0) of block (0, 0) reads the first byte past the end of |
//     second[(int)threadIdx.x - 2] + first[31 - threadIdx.x] ->
//     thread (0, 0) of block (0, 0) reads 8 bytes before the start of second (shared)
// expect: out-of-bounds-read at line 12: EXPECTED
extern "C" __global__ void f(int* out) {
    __shared__ int first[32];
    __shared__ int second[32];
    first[threadIdx.x] = second[threadIdx.x] = 1 + out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = INDEX;
}
