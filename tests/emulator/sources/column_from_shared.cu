// Stores or adds a column of pixels from shared memory.
struct __align__(64) Map { unsigned long long words[16]; };
extern "C" __global__ void f(unsigned *memory, const __grid_constant__ Map map) {
    extern __shared__ __align__(1024) unsigned tile[];
    for (int i = threadIdx.x; i < 44; i += blockDim.x) tile[i] = 1000 + i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("COPY [%1, {4, 2, 1, 0}], [%0]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                     :: "r"((unsigned)__cvta_generic_to_shared(tile)), "l"(&map) : "memory");
}
