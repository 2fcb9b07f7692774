// How often each byte occurs: a histogram a block in shared memory, all of them added in global memory.
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
