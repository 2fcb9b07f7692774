#include <cuda_fp16.h>
__device__ void load(unsigned *r, const half *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(16) half bs[16][64 + PADDING];
    int lane = threadIdx.x % 32, row = blockIdx.y * 64 + threadIdx.x / 32 * 16, col = blockIdx.x * 64;
    const half *pair = A + (row + lane / 4) * n + lane % 4 * 2;
    float c[8][4] = {};
    for (int k = 0; k < n; k += 16, pair += 16) {
        *(uint4 *)&bs[threadIdx.x / 8][threadIdx.x % 8 * 8] =
            *(const uint4 *)&B[(k + threadIdx.x / 8) * n + col + threadIdx.x % 8 * 8];
        __syncthreads();
        unsigned a[4];
        for (int i = 0; i < 4; i++) a[i] = *(const unsigned *)&pair[i % 2 * 8 * n + i / 2 * 8];
        for (int j = 0; j < 8; j++) {
            unsigned b[2];
            load(b, &bs[lane % 16][j * 8]);
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 4; i++)
            C[(row + lane / 4 + i / 2 * 8) * n + col + j * 8 + lane % 4 * 2 + i % 2] = c[j][i];
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
