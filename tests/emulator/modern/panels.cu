// One element of C for each thread; tiles of A and B come by bulk tensor copies through maps of three axes.

typedef unsigned long long u64;

struct alignas(64) Map {
    u64 words[16];
};

constexpr int TILE = 16, PANEL = 8;

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void copy(void* to, const Map* map, int x, int y, int z, u64* barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 :: "r"(shared_address(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier)) : "memory");
}

// The map of A has the axes (k / 8, m, 8): panels of eight columns. The map of B, by columns, has (n, k).
__device__ void product(const Map* a_map, const Map* b_map, float* C, int m, int n, int k)
{
    __shared__ alignas(128) float a[TILE / PANEL][TILE][PANEL];
    __shared__ alignas(128) float b[TILE][TILE];
    __shared__ alignas(8) u64 barrier;
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    const bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&barrier)) : "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    __syncthreads();
    float sum = 0.0f;
    for (int step = 0; step * TILE < k; ++step) {
        if (first) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }"
                         :: "r"(shared_address(&barrier)), "r"(static_cast<unsigned>(sizeof a + sizeof b)) : "memory");
            copy(a, a_map, 0, blockIdx.y * TILE, step * TILE / PANEL, &barrier);
            copy(b, b_map, step * TILE, blockIdx.x * TILE, 0, &barrier);
        }
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(shared_address(&barrier)), "r"(step & 1) : "memory");
        for (int p = 0; p < TILE; ++p)
            sum += a[p / PANEL][threadIdx.y][p % PANEL] * b[threadIdx.x][p];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}

extern "C" __global__ void by_value(const __grid_constant__ Map a_map, const __grid_constant__ Map b_map, float* C, int m, int n, int k)
{
    product(&a_map, &b_map, C, m, n, k);
}

extern "C" __global__ void by_pointer(const Map* a_map, const Map* b_map, float* C, int m, int n, int k)
{
    product(a_map, b_map, C, m, n, k);
}

struct Sizes {
    float* c;
    int m, n, k;
};

extern "C" __global__ void with_structure(const __grid_constant__ Map a_map, const __grid_constant__ Map b_map, Sizes sizes)
{
    product(&a_map, &b_map, sizes.c, sizes.m, sizes.n, sizes.k);
}
