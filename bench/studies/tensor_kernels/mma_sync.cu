// Tiles of 64x64 come by cp.async, go to registers by ldmatrix, and are multiplied by mma.sync: each of four warps makes
// 32 rows by 32 columns of C. A row of a tile has 128 bytes, all of the banks, so that the eight rows that ldmatrix loads
// together begin in the same bank, unless their 16-byte chunks change places (SWIZZLE).

#include <cuda_fp16.h>

constexpr int TILE = 64, CHUNKS = TILE / 8;

// Where a chunk of eight elements lies in a tile.
__device__ unsigned chunk(const half* tile, int row, int number)
{
    const int place = SWIZZLE ? number ^ row % 8 : number;
    return static_cast<unsigned>(__cvta_generic_to_shared(tile + row * TILE + place * 8));
}

__device__ void fetch(half* tile, const half* from, int stride)
{
    for (int i = threadIdx.x; i < TILE * CHUNKS; i += 128)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(chunk(tile, i / CHUNKS, i % CHUNKS)), "l"(from + i / CHUNKS * stride + i % CHUNKS * 8));
}

extern "C" __global__ void mma_sync(const half* A, const half* B, float* C, int m, int n, int k)
{
    __shared__ __align__(128) half a[TILE * TILE], b[TILE * TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    float sum[2][4][4] = {};
    for (int start = 0; start < k; start += TILE) {
        fetch(a, A + blockIdx.y * TILE * k + start, k);
        fetch(b, B + start * n + blockIdx.x * TILE, n);
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int p = 0; p < TILE; p += 16) {
            unsigned left[2][4], right[2][4];
            for (int i = 0; i < 2; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(left[i][0]), "=r"(left[i][1]), "=r"(left[i][2]), "=r"(left[i][3])
                             : "r"(chunk(a, row + i * 16 + lane % 16, p / 8 + lane / 16)));
            for (int j = 0; j < 2; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(right[j][0]), "=r"(right[j][1]), "=r"(right[j][2]), "=r"(right[j][3])
                             : "r"(chunk(b, p + lane % 16, column / 8 + j * 2 + lane / 16)));
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(left[i][0]), "r"(left[i][1]), "r"(left[i][2]), "r"(left[i][3]),
                                   "r"(right[j / 2][j % 2 * 2]), "r"(right[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int e = 0; e < 4; ++e) {
                const int y = blockIdx.y * TILE + row + i * 16 + lane / 4 + e / 2 * 8;
                C[y * n + blockIdx.x * TILE + column + j * 8 + lane % 4 * 2 + e % 2] = sum[i][j][e];
            }
}
