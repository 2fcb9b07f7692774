extern "C" __global__ void __launch_bounds__(128) kernel(const R* a, const R* b, const C* c, C* d, int tiles) {
    __shared__ alignas(128) unsigned left[512], right[64];
    const int tile = blockIdx.x, lane = tile * 128 + threadIdx.x;
    if (tile >= tiles) return;
    for (int i = threadIdx.x; i < 512; i += 128) left[i] = a[tile * 512 + i];
    for (int i = threadIdx.x; i < 64; i += 128) right[i] = b[tile * 64 + i];
    C z[RC];
    #pragma unroll
    for (int i = 0; i < RC; ++i) z[i] = c[lane * RC + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long strides = (128ull >> 4) << 16 | (256ull >> 4) << 32;
    const unsigned long long x = strides | (static_cast<unsigned>(__cvta_generic_to_shared(left)) & 0x3FFFF) >> 4;
    const unsigned long long y = strides | (static_cast<unsigned>(__cvta_generic_to_shared(right)) & 0x3FFFF) >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("INSTRUCTION" : OUTPUTS : "l"(x), "l"(y) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    #pragma unroll
    for (int i = 0; i < RC; ++i) d[lane * RC + i] = z[i];
}
