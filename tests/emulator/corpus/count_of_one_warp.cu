// Only the threads that arrive at a barrier get its result; the second warp exits without it.
// given: zeros(64)
// launch: block=(64,)
// P = [3] * 32 + [-1] * 32
extern "C" __global__ void f(int* out) {
    int told = -1;
    if (threadIdx.x < 32) told = __syncthreads_count(threadIdx.x < 3);
    out[threadIdx.x] = told;
}
