// The number of times that each byte occurs: a histogram per block in shared memory, added up in global memory.
// given: data = random().integers(0, 256, 2000, np.uint8); counts = np.zeros(256, np.uint32)
// launch: histogram<<<2, 256>>>(data, counts, 2000)
// expect: counts = np.bincount(data, minlength=256)
extern "C" __global__ void histogram(const unsigned char* bytes, unsigned* counts, int n)
{
    __shared__ unsigned own[256];
#ifndef NOT_CLEARED
    own[threadIdx.x] = 0;
#endif
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
#ifdef MISSING_ATOMIC
        own[bytes[i]]++;  // MISSING_ATOMIC: shared-race
#else
        atomicAdd(&own[bytes[i]], 1);  // NOT_CLEARED: uninitialized-read
#endif
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
