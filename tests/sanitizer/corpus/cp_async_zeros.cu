// Rows 40 to 63 of A are none: zeros take their place, and the address that is not read from is A's own.
// launch: block=128 m=40 n=8 k=16 dtype=float16 output=float32 sums=2048
// right
#include "ptx.cuh"
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* sums) {
    __shared__ __align__(128) unsigned short a[64 * 16], b[8 * 16];
    const int t = threadIdx.x, row = t / 2, part = t % 2;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(AT(a + row / 8 * 128 + part * 64 + row % 8 * 8)), "l"(row < 40 ? A + row * 16 + part * 8 : A),
                    "r"(row < 40 ? 16 : 0) : "memory");
    if (row < 8) COPY("cg", b + part * 64 + row * 8, B + row * 16 + part * 8, "16");
    ASM("cp.async.wait_all;");
    FENCE_PROXY;
    __syncthreads();
    float d[4] = {};
    ASM("wgmma.fence.sync.aligned;");
    WGMMA(d, a, b, 1, "1");
    ASM("wgmma.commit_group.sync.aligned;");
    WGMMA_WAIT(d, "0");
    STORE_TILE(sums, d);
}
