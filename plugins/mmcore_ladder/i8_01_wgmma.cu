// ladder.i8.01_wgmma: products of bytes, exact in 32 bits, by the tensor cores. bf16.11's ring, persistent blocks and
// clusters, with rows of 128 bytes of k in a stage; C's 32-bit sums go to memory from registers.

#include "int8_planes.cuh"

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
products(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, int* C, int m, int n, int k, long long ldc)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* const full = reinterpret_cast<Barrier*>(memory + STAGES * STAGE_BYTES);
    make_ring(full);
    multiply_planes(map_a, map_b, memory, full, m, n, k, 1, SamePlane{0},
                    [&](const int (&sum)[BN / 2], const Tile& tile, int) { store_sums(sum, tile, C, m, n, ldc); });
}
