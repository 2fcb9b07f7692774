//// cp.async
#include <cuda_pipeline.h>
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[4][32][32], b[4][32][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0;
    auto fetch = [&](int t) {
        if (t < k) {
            __pipeline_memcpy_async(&a[t / 32 % 4][ty][tx], &A[row * k + t + tx], 4);
            __pipeline_memcpy_async(&b[t / 32 % 4][ty][tx], &B[(t + ty) * n + col], 4);
        }
        __pipeline_commit();
    };
    for (int t = 0; t < AHEAD * 32; t += 32) fetch(t);
    for (int t = 0; t < k; t += 32) {
        fetch(t + AHEAD * 32);
        __pipeline_wait_prior(LEFT);
        __syncthreads();
        for (int i = 0; i < 32; i++) sum += a[t / 32 % 4][ty][i] * b[t / 32 % 4][i][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int m, int n, int k)
{
    mm<<<dim3(n / 32, m / 32), dim3(32, 32)>>>(A, B, C, m, n, k);
}
//// cp.async.bulk
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(float *to, const float *from, unsigned long long *full)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(at(to)),
                 "l"(from), "r"(at(full)) : "memory");
}
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ __align__(128) float a[4][32][32], b[4][32][32];
    __shared__ unsigned long long full[4];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
    bool first = tx + ty == 0;
    if (first) {
        for (int s = 0; s < 4; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full[s])));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    auto fetch = [&](int t) {
        int s = t / 32 % 4;
        if (!first || t >= k) return;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" ::"r"(at(&full[s])) : "memory");
        for (int i = 0; i < 32; i++) {
            copy(a[s][i], A + (row + i) * k + t, &full[s]);
            copy(b[s][i], B + (t + i) * n + col, &full[s]);
        }
    };
    float sum = 0;
    for (int t = 0; t < AHEAD * 32; t += 32) fetch(t);
    for (int t = 0; t < k; t += 32) {
        fetch(t + AHEAD * 32);
        int s = t / 32 % 4, parity = t / 32 / 4 % 2;
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at(&full[s])), "r"(parity) : "memory");
        for (int i = 0; i < 32; i++) sum += a[s][ty][i] * b[s][i][tx];
        __syncthreads();
    }
    C[(row + ty) * n + col + tx] = sum;
}
void run(const float *A, const float *B, float *C, int m, int n, int k)
{
    mm<<<dim3(n / 32, m / 32), dim3(32, 32)>>>(A, B, C, m, n, k);
}
