struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void pack(const float* A, float* packed, int m, int k, int width)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (p < width)
        packed[row * width + p] = p < k ? A[row * k + p] : 0;
}
extern "C" __global__ void own(const __grid_constant__ Map map, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(128) float tile[8][8];
    __shared__ unsigned long long full;
    const bool first = threadIdx.x + threadIdx.y == 0;
    const unsigned barrier = __cvta_generic_to_shared(&full);
    if (first)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(barrier));
    __syncthreads();
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int start = 0, phase = 0; start < k; start += 8, phase ^= 1) {
        if (first)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;"
                         " cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                         " [%1], [%2, {%3, %4}], [%0];"
                         :: "r"(barrier), "r"((unsigned)__cvta_generic_to_shared(tile)), "l"(&map), "r"(2 * start),
                            "r"(blockIdx.y * 8) : "memory");
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
        for (int p = 0; p < 8 && start + p < k; ++p)
            sum += column < n ? tile[threadIdx.y][p] * B[(start + p) * n + column] : 0;
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
