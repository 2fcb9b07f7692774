// Hopper only: tiles of A and B come in by bulk copies that tensor maps describe, and the two blocks of a cluster work
// side by side. CUtensorMap is declared here as what it is to a kernel: 128 opaque bytes.

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ inline unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void bulk_copy(void* tile, const TensorMap* map, int column, int row, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared_address(tile)), "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(row)
                 : "memory");
}

extern "C" __global__ void tensor_map(
    const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, float* C, int m, int n, int k)
{
    __shared__ alignas(128) float tile_a[TILE][TILE];
    __shared__ alignas(128) float tile_b[TILE][TILE];
    __shared__ unsigned long long barrier;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const bool leader = tx == 0 && ty == 0;
    if (leader) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    float sum = 0.0f;
    for (int start = 0, phase = 0; start < k; start += TILE, phase ^= 1) {
        if (leader) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(shared_address(&barrier)), "r"(2 * TILE * TILE * 4) : "memory");
            bulk_copy(tile_a, &map_a, start, blockIdx.y * TILE, &barrier);
            bulk_copy(tile_b, &map_b, blockIdx.x * TILE, start, &barrier);
        }
        unsigned done = 0;
        // Bounded, so that a copy that never arrives makes a wrong product and not a hang.
        for (int tries = 0; !done && tries < 1000000; ++tries)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(shared_address(&barrier)), "r"(phase) : "memory");
        // Outside the matrices the copies bring zeros, so that no test is needed here.
        for (int p = 0; p < TILE; ++p)
            sum += tile_a[ty][p] * tile_b[p][tx];
        __syncthreads();
    }

    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    if (row < m && column < n)
        C[row * n + column] = sum;
}
