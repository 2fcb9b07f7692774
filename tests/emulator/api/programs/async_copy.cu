// y = 2 x by cp.async: the next 16 bytes of each thread arrive while it processes the current ones.
// given: x = np.arange(4 * 64 * 5, dtype=np.int32); y = np.zeros_like(x)
// launch: async_double<<<1, 64>>>(x, y, 5)
// expect: y = 2 * x
#include <cuda_pipeline.h>

extern "C" __global__ void async_double(const int4* x, int4* y, int tiles)
{
    __shared__ int4 buffers[2][64];
    int thread = threadIdx.x;
    __pipeline_memcpy_async(&buffers[0][thread], &x[thread], 16);
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&buffers[(tile + 1) % 2][thread], &x[(tile + 1) * 64 + thread], 16);
        __pipeline_commit();
#ifdef FORGOTTEN_WAIT
        __pipeline_wait_prior(2);
#else
        __pipeline_wait_prior(1);
#endif
        int4 value = buffers[tile % 2][thread];  // FORGOTTEN_WAIT: unfinished-copy
        y[tile * 64 + thread] = make_int4(2 * value.x, 2 * value.y, 2 * value.z, 2 * value.w);
    }
}
