// ladder.f64.04_int8 and ladder.f32.12_int8: products by the tensor cores that multiply bytes, which are 30 times as fast
// as those that multiply doubles. With SUMS_IN_MEMORY, ladder.i8.03_residues.
//
// sums, of integers.cuh, adds up each row of A and column of B, residues makes integers of them and their residues modulo
// MODULI numbers, products multiplies these, one plane after another, and combine makes numbers of the residues of the
// sums.

#include "int8_planes.cuh"
#include "residues.cuh"

constexpr int BOX_BYTES = 64 * 128;  // of residues of C

extern "C" __global__ void __launch_bounds__(256)
residues(const NUMBER* A, const NUMBER* B, const Sums* sums, int slices, int* scales, signed char* of_a, signed char* of_b,
         int m, int n, int k, int a_by_columns, int b_by_columns, long long lda, long long ldb, long long packed)
{
    store_planes<MODULI>({{A, m, k, a_by_columns != 0, lda}, {B, n, k, b_by_columns != 0, ldb}}, sums, slices, scales, of_a,
                         of_b, packed, NUMBERS.largest_norm, NUMBERS.least_spread,
                         [](int l, const Digits (&digits)[4]) { return residues_of(l, digits); });
}

#if SUMS_IN_MEMORY
typedef int Sum;

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
products(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, Sum* of_c, const int* scales, int lines,
         int m, int n, int k, int plane, long long packed)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Barrier* const full = reinterpret_cast<Barrier*>(memory + STAGES * STAGE_BYTES);
    make_ring(full);
    if (any_doubt(scales, lines))
        return;
    multiply_planes(map_a, map_b, memory, full, m, n, k, 1, SamePlane{plane},
                    [&](const int (&sum)[BN / 2], const Tile& tile, int consumer) {
                        store_sums(sum, tile, of_c + plane * m * packed, m, n, packed);
                    });
}

__device__ uchar2 residues_of_pair(const Sum* of_c, int l)
{
    const int2 pair = *reinterpret_cast<const int2*>(of_c);
    const Modulus modulus(l);
    return {static_cast<unsigned char>(modulus.residue(pair.x) ^ 128),
            static_cast<unsigned char>(modulus.residue(pair.y) ^ 128)};
}
#else
typedef unsigned char Sum;

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
products(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c,
         const int* scales, int lines, int m, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char* const boxes = memory + STAGES * STAGE_BYTES;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * 2 * BOX_BYTES);
    make_ring(full);
    if (any_doubt(scales, lines))
        return;
    int box = 0;
    multiply_planes(
        map_a, map_b, memory, full, m, n, k, MODULI, SamePlane{0},
        [&](const int (&sum)[BN / 2], const Tile& tile, int consumer) {
            const Modulus modulus(tile.plane);
            const int thread = threadIdx.x % 128, lane = thread % 32, y = thread / 32 * 16 + lane / 4;
#pragma unroll
            for (int j = 0; j < BN; j += 128, box ^= 1) {
                unsigned char* const to = boxes + (consumer * 2 + box) * BOX_BYTES;
                if (thread == 0)
                    stores_have_read<1>();
                group_barrier(CONSUMER + consumer, 128);
                // Swizzled as TMA expects it.
#pragma unroll
                for (int i = 0; i < (BN < 128 ? BN : 128) / 2; i += 2) {
                    const int row = y + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2;
                    const unsigned low = modulus.residue(sum[j / 2 + i]), high = modulus.residue(sum[j / 2 + i + 1]);
                    *reinterpret_cast<unsigned short*>(to + row * 128 + (x ^ row % 8 * 16)) = __byte_perm(low, high, 0x40);
                }
                publish_to_copies();
                group_barrier(CONSUMER + consumer, 128);
                if (thread == 0)
                    store(&map_c, to, tile.column + j, tile.row, tile.plane);
            }
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0)
        stores_have_read<0>();
}

__device__ uchar2 residues_of_pair(const Sum* of_c, int l)
{
    const unsigned pair = *reinterpret_cast<const unsigned short*>(of_c) ^ 0x8080;
    return {static_cast<unsigned char>(pair), static_cast<unsigned char>(pair >> 8)};
}
#endif

extern "C" __global__ void __launch_bounds__(256)
combine(const Sum* of_c, const int* scales, int lines, const NUMBER* A, const NUMBER* B, NUMBER* C, int m, int n, int k,
        int a_by_columns, int b_by_columns, long long lda, long long ldb, long long ldc, long long packed)
{
    wait_for_last_launch();
    let_next_begin();
    if (any_doubt(scales, lines)) {
        without_integers({A, m, k, a_by_columns != 0, lda}, {B, n, k, b_by_columns != 0, ldb}, C, ldc);
        return;
    }
    store_pairs(scales, C, m, n, ldc, packed, [&](long long at) {
        Combined left, right;
#pragma unroll
        for (int l = 0; l < MODULI; ++l) {
            const uchar2 pair = residues_of_pair(of_c + l * m * packed + at, l);
            left.add(l, pair.x);
            right.add(l, pair.y);
        }
        return double2{left.number(), right.number()};
    });
}
