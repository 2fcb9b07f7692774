// A block of numbers is reduced into the box of a tensor map.
struct alignas(64) Map { char content[128]; };
extern "C" __global__ void f(TYPE* C, const __grid_constant__ Map map) {
    __shared__ __align__(128) TYPE box[8 * COLUMNS];
    for (int i = threadIdx.x; i < 8 * COLUMNS; i += 32) box[i] = (TYPE)(i + 1);
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.REDUCTION.tile.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&map), "r"(COLUMN), "r"(3), "r"((unsigned)__cvta_generic_to_shared(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    }
}
