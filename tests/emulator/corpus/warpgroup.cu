// A warpgroup multiplies matrices in shared memory, in groups of eight rows of 16 bytes.
// given: HALVES_OF_64, HALVES_OF_8, zeros((64, 8), f32)
// launch: block=(128,), options=("-DADD=ADDED",), architecture="90a"
// with ADDED: 0 | 1
// R = ADDED - P.astype(f64) @ Q.T.astype(f64)
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    const int t = threadIdx.x;
    for (int i = t; i < 64 * 16; i += 128) a[i / 16 / 8 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = A[i];
    b[t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = B[t];
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    auto descriptor = [](const void* p) {
        const unsigned long long begin = (unsigned)__cvta_generic_to_shared(p);
        return (begin & 0x3FFFF) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
    };
    float d[4] = {1, 1, 1, 1};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %6, 0;"
                 " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, add, 1, -1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)), "r"(ADD));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    float* mine = C + (t / 32 * 16 + t % 32 / 4) * 8 + t % 4 * 2;
    mine[0] = d[0]; mine[1] = d[1]; mine[64] = d[2]; mine[65] = d[3];
}
