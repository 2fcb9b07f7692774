// Sorts 512 numbers in shared memory, two per thread.
// given: x = random().integers(-999, 999, 512, np.int16)
// launch: bitonic_sort<<<1, 256>>>(x)
// expect: x = np.sort(x)
extern "C" __global__ void bitonic_sort(short* x)
{
    __shared__ short own[512];
    for (int i = threadIdx.x; i < 512; i += 256)
        own[i] = x[i];
    for (int length = 2; length <= 512; length *= 2)
        for (int distance = length / 2; distance; distance /= 2) {
#ifdef MISSING_BARRIER
            if (distance > 32)
#endif
            __syncthreads();
            int low = 2 * threadIdx.x - (threadIdx.x & (distance - 1)), high = low + distance;
            bool upwards = (low & length) == 0;
            short a = own[low], b = own[high];  // MISSING_BARRIER: shared-race
            if ((a > b) == upwards) {
                own[low] = b;
                own[high] = a;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 256)
        x[i] = own[i];
}
