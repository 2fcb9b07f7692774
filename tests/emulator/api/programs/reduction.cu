// The sum of n numbers: each warp by shuffles, the warps of a block through shared memory, the blocks by an atomic.
// given: x = random().integers(-9, 9, 3000).astype(np.float32); sum = np.zeros(1, np.float32)
// launch: reduce<<<3, 256>>>(x, sum, 3000)
// expect: sum = x.sum(keepdims=True)
extern "C" __global__ void reduce(const float* x, float* sum, int n)
{
    __shared__ float warps[32];
    float own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += x[i];
    for (int distance = 16; distance; distance /= 2)
        own += __shfl_down_sync(0xFFFFFFFF, own, distance);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = own;
#ifndef MISSING_BARRIER
    __syncthreads();
#endif
    if (threadIdx.x < 32) {
        own = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;  // MISSING_BARRIER: shared-race
        for (int distance = 16; distance; distance /= 2)
            own += __shfl_down_sync(0xFFFFFFFF, own, distance);
        if (threadIdx.x == 0) {
#ifdef MISSING_ATOMIC
            *sum += own;  // MISSING_ATOMIC: global-race
#else
            atomicAdd(sum, own);
#endif
        }
    }
}
