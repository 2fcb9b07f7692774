// Threads of a block are counted at a barrier, without threads that have exited.
// with ENDED: 0 | 2
// given: zeros(256), ints(4, 63, -1, 61), i32(ENDED)
// launch: grid=(4,), block=(64,)
// P[t] = counted(t // 64, 64 - ENDED) if t % 64 < 64 - ENDED else 0
extern "C" __global__ void f(int* out, const int* limits, int ended) {
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t >= blockDim.x - ended) return;
    __shared__ int last;
    if (t == 0) last = blockIdx.x;
    const bool above = t > limits[blockIdx.x];
    const int count = __syncthreads_count(above);
    out[i] = count + 100 * (__syncthreads_or(above) != 0) + 1000 * (__syncthreads_and(above) != 0) + 10000 * last;
}
