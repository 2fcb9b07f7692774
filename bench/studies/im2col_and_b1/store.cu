extern "C" __global__ void storeRANK(
    const int* info, unsigned char* data, unsigned* status, const __grid_constant__ Map map)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    const int t = threadIdx.x, region = info[9];
    for (int i = t; i < region; i += 32) tile[i] = data[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.RANKd.global.shared::cta.im2col_no_offs.bulk_group"
                     " [%1, {COORDINATES}], [%0]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                     :: "r"(address(tile)), "l"(&map), "r"(0), "r"(info[0]), "r"(info[1]), "r"(info[2]),
                        "r"(info[3]), "r"(info[4]) : "memory");
        *status = 1;
    }
}
