// C = A·B, bfloat16, float32 C, B by columns: wgmma with A in registers and B stored by the threads, two groups in flight.
// overwrite in flight: one buffer for products of two steps: `BUFFERS = 3` -> `BUFFERS = 1` ==> #write-b #wgmma
// fence.proxy.async: no proxy fence after the stores of B: drop #fence-proxy ==> #write-b #wgmma
// fence.proxy.async: one thread's proxy fence for all threads' stores: if `thread == 0` #fence-proxy ==> #write-b
//     #wgmma
// wgmma.fence: no wgmma.fence after the loads of A: drop #fence ==> #wgmma #write-a
// wgmma.wait_group: no wait for the last group: drop #wait-0 ==> #store #store-8
// descriptor: leading and stride offset exchanged: `128ull / 16 << 32 | BN * 16ull / 16 << 16` -> `BN * 16ull / 16
//     << 32 | 128ull / 16 << 16` ==> #wgmma #descriptor
// harmless: four buffers: `BUFFERS = 3` -> `BUFFERS = 4` ==> nothing
#include <cuda_bf16.h>

constexpr int BM = 64, BN = 64, BK = 64, BUFFERS = 3, THREADS = 128;

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

// A tile of 8×8 blocks of 128 bytes each, without swizzle: 128 bytes to the next eight columns of B, BN * 16 along k.
__device__ __forceinline__ unsigned long long descriptor(const void *tile)
{
    return 128ull / 16 << 32 | BN * 16ull / 16 << 16 | (address(tile) & 0x3ffff) / 16; // #descriptor
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define WGMMA(d, a, b) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;" \
                 : D16(0), D16(16) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

extern "C" __global__ void __launch_bounds__(THREADS)
    wgmma_registers(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int n, int k)
{
    __shared__ __align__(128) __nv_bfloat16 b_tile[BUFFERS][BK / 8][BN][8];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.y * BM + warp * 16 + lane / 4, column0 = blockIdx.x * BN, steps = k / BK;
    const __nv_bfloat16 *a_rows = &A[row0 * k + lane % 4 * 2]; // the first of the elements that a fragment has of A
    float d[BN / 2] = {};
    unsigned even[BK / 16][4], odd[BK / 16][4]; // A of the even and of the odd steps: the other's product is under way

    auto multiply = [&](int step, unsigned (&a)[BK / 16][4]) {
        auto &tile = b_tile[step % BUFFERS];
        for (int i = thread; i < BN * BK / 8; i += THREADS) {
            const int column = i / (BK / 8), p = i % (BK / 8);
            *(uint4 *)tile[p][column] = *(const uint4 *)&B[(column0 + column) * k + step * BK + p * 8]; // #write-b
        }
        for (int p = 0; p < BK / 16; p++)
            for (int i = 0; i < 4; i++)
                a[p][i] = *(const unsigned *)&a_rows[i % 2 * 8 * k + step * BK + p * 16 + i / 2 * 8]; // #write-a
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // #fence-proxy
        __syncthreads(); // #barrier
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // #fence
        for (int p = 0; p < BK / 16; p++)
            WGMMA(d, a[p], descriptor(tile[p * 2])); // #wgmma
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // The step before is over now; behind the next barrier it is so for all threads, and its tile may be overwritten.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); // #wait-1
    };
    for (int step = 0; step < steps; step += 2) {
        multiply(step, even);
        multiply(step + 1, odd);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-0
    for (int j = 0; j < BN / 8; j++) {
        const int column = column0 + j * 8 + lane % 4 * 2;
        *(float2 *)&C[row0 * n + column] = make_float2(d[j * 4], d[j * 4 + 1]); // #store
        *(float2 *)&C[(row0 + 8) * n + column] = make_float2(d[j * 4 + 2], d[j * 4 + 3]); // #store-8
    }
}
