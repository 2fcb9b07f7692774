// Inclusive sums of 256 numbers in each block (Hillis and Steele), between two buffers in shared memory.
// given: x = random().integers(-99, 99, (2, 256), np.int32); sums = np.zeros_like(x)
// launch: scan<<<2, 256>>>(x, sums)
// expect: sums = x.cumsum(axis=1, dtype=np.int32)
extern "C" __global__ void scan(const int* x, int* sums)
{
    __shared__ int buffers[2][256];
    int thread = threadIdx.x, from = 0;
    buffers[0][thread] = x[blockIdx.x * 256 + thread];
    for (int distance = 1; distance < 256; distance *= 2) {
#ifndef MISSING_BARRIER
        __syncthreads();
#endif
        int sum = buffers[from][thread];
        if (thread >= distance)
            sum += buffers[from][thread - distance];  // MISSING_BARRIER: shared-race
        buffers[1 - from][thread] = sum;
        from = 1 - from;
    }
    sums[blockIdx.x * 256 + thread] = buffers[from][thread];
}
