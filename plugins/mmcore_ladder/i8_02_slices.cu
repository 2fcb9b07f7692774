// ladder.i8.02_slices: float64 from products of bytes (Ozaki scheme I). A number is an integer of 7 digits to the base 256,
// its slices, and a product of two such numbers is the sum of 49 products of digits. Those of one power of 256 are a level
// and have one sum in 32 bits: 39 products in 9 levels. The 10 products of the lowest levels are smaller than the tolerance.

#define NUMBER double

#include "int8_planes.cuh"
#include "integers.cuh"

constexpr int SLICES = 7, LOWEST = 4, LEVELS = 2 * SLICES - 1 - LOWEST;
constexpr double NORM = 0.99 * (1ll << 55), SPREAD = least_spread(NORM);

extern "C" __global__ void __launch_bounds__(256)
slices(const double* A, const double* B, const Sums* sums, int parts, int* scales, signed char* of_a, signed char* of_b,
       int m, int n, int k, int a_by_columns, int b_by_columns, long long lda, long long ldb, long long packed)
{
    store_planes<SLICES>({{A, m, k, a_by_columns != 0, lda}, {B, n, k, b_by_columns != 0, ldb}}, sums, parts, scales, of_a,
                         of_b, packed, NORM, SPREAD, [](int slice, const Digits (&digits)[4]) {
                             unsigned bytes[4];
                             for (int i = 0; i < 4; ++i)
                                 bytes[i] = digits[i].words[slice / 4] >> slice % 4 * 8;
                             return __byte_perm(__byte_perm(bytes[0], bytes[1], 0x40),
                                                __byte_perm(bytes[2], bytes[3], 0x40), 0x5410);
                         });
}

// A level's pairs of slices.
struct Level {
    __device__ int lowest_a(int plane) const { return max(0, LOWEST + plane - SLICES + 1); }
    __device__ int terms(int plane) const { return min(LOWEST + plane, SLICES - 1) - lowest_a(plane) + 1; }
    __device__ int of_a(int plane, int term) const { return lowest_a(plane) + term; }
    __device__ int of_b(int plane, int term) const { return LOWEST + plane - of_a(plane, term); }
};

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
products(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, int* of_c, const int* scales, int lines,
         int m, int n, int k, long long packed)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* const full = reinterpret_cast<Barrier*>(memory + STAGES * STAGE_BYTES);
    make_ring(full);
    if (any_doubt(scales, lines))
        return;
    multiply_planes(map_a, map_b, memory, full, m, n, k, LEVELS, Level{},
                    [&](const int (&sum)[BN / 2], const Tile& tile, int) {
                        store_sums(sum, tile, of_c + tile.plane * m * packed, m, n, packed);
                    });
}

// The sum of nine levels: exact in 64 bits for four of them.
__device__ double sum_of_levels(const int* of_c, long long plane)
{
    long long parts[2] = {};
    for (int level = 0; level < 8; ++level)
        parts[level / 4] += static_cast<long long>(of_c[(level + 1) * plane]) << level % 4 * 8;
    const double lower = fma(static_cast<double>(parts[0]), 256, static_cast<double>(of_c[0]));
    return fma(static_cast<double>(parts[1]), 256.0 * (1ll << 32), lower) * (1ll << 8 * LOWEST);
}

extern "C" __global__ void __launch_bounds__(256)
combine(const int* of_c, const int* scales, int lines, const double* A, const double* B, double* C, int m, int n, int k,
        int a_by_columns, int b_by_columns, long long lda, long long ldb, long long ldc, long long packed)
{
    wait_for_last_launch();
    let_next_begin();
    if (any_doubt(scales, lines)) {
        without_integers({A, m, k, a_by_columns != 0, lda}, {B, n, k, b_by_columns != 0, ldb}, C, ldc);
        return;
    }
    store_pairs(scales, C, m, n, ldc, packed, [&](long long at) {
        return double2{sum_of_levels(of_c + at, m * packed), sum_of_levels(of_c + at + 1, m * packed)};
    });
}
