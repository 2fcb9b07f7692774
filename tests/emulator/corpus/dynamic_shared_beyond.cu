// An access beyond the dynamic shared memory of the launch is a violation.
// launch: shared_bytes=120
// expect: out-of-bounds-write at line 7: thread (30, 0) of block (0, 0)
// expect: out-of-bounds-read at line 9: shared
extern __shared__ int dynamic[];
extern "C" __global__ void f(int* out) {
    dynamic[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x];
}
