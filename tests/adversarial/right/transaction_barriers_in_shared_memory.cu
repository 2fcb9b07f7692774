// A producer warp and a consumer warp wait for each other at mbarriers: init, arrive and test_wait with a parity.
// sizes: 9x40x100 5x64x64
// config: block=64
// kernel: min_compute_capability=9.0
// grid: ceil(n/32), m

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void arrive(unsigned long long* barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(at(barrier)) : "memory");
}
__device__ void wait(unsigned long long* barrier, unsigned parity)
{
    unsigned done;
    do
        asm volatile("{ .reg .pred q; mbarrier.test_wait.parity.shared::cta.b64 q, [%1], %2; selp.u32 %0, 1, 0, q; }"
                     : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
    while (!done);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ unsigned long long full[2], empty[2];
    __shared__ float lines[2][32];
    const int x = threadIdx.x % 32, row = blockIdx.y, column = blockIdx.x * 32 + x;
    if (threadIdx.x < 4)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;"
                     ::"r"(at(threadIdx.x < 2 ? &full[threadIdx.x] : &empty[threadIdx.x - 2])) : "memory");
    __syncthreads();
    float sum = 0.0f;
    for (int step = 0, i = 0; step < k; step += 32, ++i) {
        const int slot = i % 2, parity = i / 2 % 2;
        if (threadIdx.x < 32) {
            if (i >= 2)
                wait(&empty[slot], parity ^ 1);
            lines[slot][x] = step + x < k ? A[row * k + step + x] : 0.0f;
            arrive(&full[slot]);
        } else {
            wait(&full[slot], parity);
            for (int p = 0; column < n && p < min(32, k - step); ++p)
                sum += lines[slot][p] * B[(step + p) * n + column];
            arrive(&empty[slot]);
        }
    }
    if (threadIdx.x >= 32 && column < n)
        C[row * n + column] = sum;
}
