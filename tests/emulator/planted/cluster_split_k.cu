// C = A·B, float16, B by columns: blocks of a cluster of two sum half of k each, and add in distributed shared memory.
// read too early: no cluster barrier before the other part is read: drop #parts-there ==> #read-part #write-part
// cluster left: no cluster barrier at the end: drop #stay ==> #read-part
// cluster left: one block waits at the end, the other exits: if `rank == 0` #stay ==> #read-part
// deadlock: one block skips the cluster barrier: if `rank == 0` #parts-there ==> #parts-there #read-part
//     #write-part
#include <cuda_fp16.h>

constexpr int TILE = 32, CLUSTER = 2, THREADS = 128;

#define CLUSTER_BARRIER() \
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory")

#define READ_REMOTE(value, variable, rank) \
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\n" \
                 "ld.shared::cluster.f32 %0, [remote];\n}" : "=f"(value) : "r"(address(&variable)), "r"(rank) : "memory")

__device__ __forceinline__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
    cluster_split_k(const __half *A, const __half *B, __half *C, int m, int n, int k)
{
    __shared__ float part[TILE][TILE];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x / CLUSTER * TILE;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));

    // A warp has 16×16 elements of the tile.
    const int row = warp / 2 * 16 + lane / 4, column = warp % 2 * 16;
    float sums[2][4] = {};
    for (int p = rank * k / CLUSTER; p < (rank + 1) * k / CLUSTER; p += 16) {
        unsigned a[4], b[2];
        for (int i = 0; i < 4; i++)
            a[i] = *(const unsigned *)&A[(row0 + row + i % 2 * 8) * k + p + i / 2 * 8 + lane % 4 * 2];
        for (int j = 0; j < 2; j++) {
            for (int i = 0; i < 2; i++)
                b[i] = *(const unsigned *)&B[(column0 + column + j * 8 + lane / 4) * k + p + i * 8 + lane % 4 * 2];
            mma(sums[j], a, b);
        }
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++)
            part[row + i / 2 * 8][column + j * 8 + lane % 4 * 2 + i % 2] = sums[j][i]; // #write-part
    CLUSTER_BARRIER(); // #parts-there

    // Each block adds half of the rows.
    for (int i = thread; i < TILE * TILE / CLUSTER; i += THREADS) {
        const int row = rank * TILE / CLUSTER + i / TILE, column = i % TILE;
        float other;
        READ_REMOTE(other, part[row][column], 1 - rank); // #read-part
        C[(row0 + row) * n + column0 + column] = __float2half(part[row][column] + other); // #store
    }
    CLUSTER_BARRIER(); // #stay: the other block still reads this one's part
}
