// Shared memory has bounds.
// expect: out-of-bounds-write at line 5: thread (31, 0) of block (0, 0)
extern "C" __global__ void f(int* out) {
    __shared__ int s[32];
    s[threadIdx.x + (out[0] == 0)] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
