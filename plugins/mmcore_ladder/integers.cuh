// Matrices as integers, for the tensor cores that multiply bytes.
//
// Each row of A and column of B is multiplied by a power of two of its own, so that its Euclidean norm is just below
// LARGEST_NORM, and rounded to integers. These errors are smaller than the tolerance if the numbers of a line are not too
// different in size. Let `spread` be (sum of magnitudes)² / (k · sum of squares), which is 1 where all are of one size.
// It is the square of the cosine of the angle between the magnitudes and (1, 1, …), so that with angles u and v of two
// lines |A|·|B| is at least cos(u + v) times the product of their norms. A line whose spread is below LEAST_SPREAD leaves
// the whole product to the CUDA cores.
//
// A source defines NUMBER before: double or float.

#pragma once

#include "launches.cuh"

constexpr int DEPTH = 128, LINES = 32;   // of a matrix, that a block makes integers of
constexpr int NOT_SCALED = -1 << 30;     // a line's exponent where the line cannot be rounded

// The integer of a number: 8 bytes for double, 4 for float.
template <typename T> struct IntegerOf;
template <> struct IntegerOf<double> { typedef long long Type; };
template <> struct IntegerOf<float> { typedef int Type; };
typedef IntegerOf<NUMBER>::Type Integer;
constexpr int WORDS = sizeof(Integer) / 4;

// The part of the tolerance, 2·√k·2⁻⁵² or 2·√k·2⁻²⁴ of |A|·|B|, that rounding to integers may take.
constexpr double ALLOWED = 0.9 * (sizeof(NUMBER) == 8 ? 1.0 / (1ll << 51) : 1.0 / (1 << 23));

constexpr double root(double number)
{
    double result = number > 1 ? number : 1;
    for (int i = 0; i < 200; ++i)
        result = (result + number / result) / 2;
    return result;
}

// The least spread of lines of norms T / 2 or more. With the cosine c, rounding errors are at most √k · c · T / 2 for the
// two norms, and |A|·|B| is at least (2·c² - 1) · T² / 4.
constexpr double least_spread(double norm)
{
    const double ratio = ALLOWED * norm / 2, cosine = (1 + root(1 + 8 * ratio * ratio)) / (4 * ratio);
    return cosine * cosine;
}

// A or B: `lines` of length k. Neighbours in memory are of neighbouring lines (by_columns), or of one.
struct Matrix {
    const NUMBER* elements;
    int lines, k;
    bool by_columns;
    long long leading;

    __device__ NUMBER at(int line, int p) const
    {
        if (line >= lines || p >= k)
            return 0;
        return elements[by_columns ? p * leading + line : line * leading + p];
    }

    // Four neighbours along k, for a matrix that is not stored by columns.
    __device__ void four(int line, int p, NUMBER (&numbers)[4]) const
    {
        struct alignas(16) Chunk { NUMBER numbers[16 / sizeof(NUMBER)]; };
        constexpr int WIDTH = 16 / sizeof(NUMBER);
        if (leading % WIDTH == 0 && p + 4 <= k) {
            for (int i = 0; i < 4; i += WIDTH) {
                const Chunk chunk = *reinterpret_cast<const Chunk*>(elements + line * leading + p + i);
                for (int j = 0; j < WIDTH; ++j)
                    numbers[i + j] = chunk.numbers[j];
            }
        } else {
            for (int i = 0; i < 4; ++i)
                numbers[i] = at(line, p + i);
        }
    }
};

// Both matrices, and the one that a block works on: blocks of A's lines come first.
struct Both {
    Matrix a, b;

    __device__ bool is_a() const { return blockIdx.x < (a.lines + LINES - 1) / LINES; }
    __device__ Matrix matrix() const
    {
        const bool is_a = this->is_a();
        return {is_a ? a.elements : b.elements, is_a ? a.lines : b.lines, a.k, is_a ? a.by_columns : b.by_columns,
                is_a ? a.leading : b.leading};
    }
    __device__ int first() const { return (blockIdx.x - (is_a() ? 0 : (a.lines + LINES - 1) / LINES)) * LINES; }
    __device__ int before() const { return is_a() ? 0 : a.lines; }  // lines of the other matrix
    __device__ int lines() const { return a.lines + b.lines; }
};

// The sums of squares and of magnitudes of the block's lines in a slice of k, of which there are gridDim.y.
struct Sums {
    double squares, magnitudes;

    __device__ void add(NUMBER number)
    {
        const double magnitude = fabs(static_cast<double>(number));
        squares = fma(magnitude, magnitude, squares + (magnitude > 0 ? 1e-300 : 0));  // 0 for zeros alone
        magnitudes += magnitude;
    }
    __device__ void add(const Sums& other)
    {
        squares += other.squares;
        magnitudes += other.magnitudes;
    }
};

inline __device__ void sum_up_lines(const Both& both, Sums* sums)
{
    __shared__ Sums partial[32][33];
    wait_for_last_launch();
    let_next_begin();
    const Matrix matrix = both.matrix();
    const int depth = (matrix.k + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * depth, end = min(matrix.k, begin + depth);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = both.first();
    if (matrix.by_columns) {
        Sums sum = {};
        for (int p = begin + warp; p < end; p += 8)
            sum.add(matrix.at(first + lane, p));
        partial[warp][lane] = sum;
    } else {
        for (int i = warp; i < 32; i += 8) {
            Sums sum = {};
            for (int p = begin + lane; p < end; p += 32)
                sum.add(matrix.at(first + i, p));
            partial[lane][i] = sum;
        }
    }
    __syncthreads();
    if (warp == 0 && first + lane < matrix.lines) {
        Sums sum = {};
        for (int i = 0; i < (matrix.by_columns ? 8 : 32); ++i)
            sum.add(partial[i][lane]);
        sums[static_cast<long long>(blockIdx.y) * both.lines() + both.before() + first + lane] = sum;
    }
}

// The exponent of a line's scale.
inline __device__ int scale_of(const Sums& sum, int k, double largest_norm, double least_spread)
{
    if (sum.squares == 0)
        return 0;
    const bool even = sum.magnitudes * sum.magnitudes >= least_spread * k * sum.squares;
    if (!(even && sum.squares > 1e-240 && sum.squares < 1e240))
        return NOT_SCALED;
    return ilogb(largest_norm / sqrt(sum.squares));
}

inline __device__ double power_of_two(int exponent)
{
    return __hiloint2double((1023 + exponent) << 20, 0);
}

inline __device__ long long rounded(double number, long long) { return __double2ll_rn(number); }
inline __device__ int rounded(double number, int) { return __double2int_rn(number); }

// An integer as the sum of its digits, each of a byte from -128 to 127, times powers of 256.
struct Digits {
    int words[WORDS];

    Digits() = default;
    __device__ explicit Digits(Integer integer)
    {
        const Integer halves = static_cast<Integer>(0x8080808080808080ll);
        const Integer digits = (integer + halves) ^ halves;
        for (int i = 0; i < WORDS; ++i)
            words[i] = static_cast<int>(digits >> 32 * i);
    }
};

// Makes integers of LINES lines in DEPTH elements along k, and stores what `word` makes of four of them, for each of
// PLANES planes, one behind another. `scales` gets each line's exponent.
template <int PLANES, typename F>
__device__ void store_planes(const Both& both, const Sums* sums, int slices, int* scales, signed char* of_a,
                             signed char* of_b, long long packed, double largest_norm, double least_spread, F word)
{
    __shared__ NUMBER tile[LINES][DEPTH + 1];
    __shared__ double factors[LINES];
    wait_for_last_launch();
    let_next_begin();
    const Matrix matrix = both.matrix();
    const int thread = threadIdx.x, first = both.first(), start = blockIdx.y * DEPTH, lane = thread % 32;
    if (thread < LINES) {
        Sums sum = {};
        if (first + thread < matrix.lines)
            for (int slice = 0; slice < slices; ++slice)
                sum.add(sums[static_cast<long long>(slice) * both.lines() + both.before() + first + thread]);
        const int scale = scale_of(sum, matrix.k, largest_norm, least_spread);
        factors[thread] = scale == NOT_SCALED ? 0 : power_of_two(scale);
        if (blockIdx.y == 0 && first + thread < matrix.lines)
            scales[both.before() + first + thread] = scale;
    }
    // A lane's four neighbours are 32 elements from each other in the tile, so that lanes read different banks.
    if (matrix.by_columns)
        for (int p = thread / 32; p < DEPTH; p += 8)
            tile[lane][p % 4 * 32 + p / 4] = matrix.at(first + lane, start + p);
    __syncthreads();

    const int p = lane * 4;
    signed char* const to = (both.is_a() ? of_a : of_b) + start + p;
    for (int line = thread / 32; line < LINES && first + line < matrix.lines; line += 8) {
        NUMBER numbers[4];
        if (matrix.by_columns)
            for (int i = 0; i < 4; ++i)
                numbers[i] = tile[line][i * 32 + lane];
        else
            matrix.four(first + line, start + p, numbers);
        Digits digits[4];
        for (int i = 0; i < 4; ++i)
            digits[i] = Digits(rounded(numbers[i] * factors[line], Integer()));
        if (start + p < packed)
#pragma unroll
            for (int plane = 0; plane < PLANES; ++plane)
                *reinterpret_cast<unsigned*>(to + (static_cast<long long>(plane) * matrix.lines + first + line) * packed) =
                    word(plane, digits);
    }
}

// Whether a line cannot be rounded; `lines` is 0 where the sums are too short or too long. All threads of a block ask.
inline __device__ bool any_doubt(const int* scales, int lines)
{
    int doubt = lines == 0;
    for (int i = threadIdx.x; i < lines; i += blockDim.x)
        doubt |= scales[i] == NOT_SCALED;
    return __syncthreads_or(doubt);
}

// The product by the CUDA cores: of each block 256 threads, with 4×4 elements of C each.
inline __device__ void without_integers(const Matrix& a, const Matrix& b, NUMBER* C, long long ldc)
{
    __shared__ NUMBER tile_a[16][65], tile_b[16][65];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int tiles_across = (b.lines + 63) / 64, tiles = (a.lines + 63) / 64 * tiles_across;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int top = tile / tiles_across * 64, left = tile % tiles_across * 64;
        NUMBER sum[4][4] = {};
        for (int start = 0; start < a.k; start += 16) {
            for (int i = threadIdx.x; i < 1024; i += 256) {
                const int line_a = a.by_columns ? i % 64 : i / 16, p_a = a.by_columns ? i / 64 : i % 16;
                const int line_b = b.by_columns ? i % 64 : i / 16, p_b = b.by_columns ? i / 64 : i % 16;
                tile_a[p_a][line_a] = a.at(top + line_a, start + p_a);
                tile_b[p_b][line_b] = b.at(left + line_b, start + p_b);
            }
            __syncthreads();
            for (int p = 0; p < 16; ++p)
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < 4; ++j)
                        sum[i][j] += tile_a[p][ty + 16 * i] * tile_b[p][tx + 16 * j];
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                if (top + ty + 16 * i < a.lines && left + tx + 16 * j < b.lines)
                    C[(top + ty + 16 * i) * ldc + left + tx + 16 * j] = sum[i][j];
    }
}

// Stores C, scaled back: `pair` returns two neighbours' sums, of the elements `at` and at + 1 of a plane.
template <typename F>
__device__ void store_pairs(const int* scales, NUMBER* C, int m, int n, long long ldc, long long packed, F pair)
{
    const unsigned across = (n + 511) / 512, chunks = m * across;  // of 256 pairs in a row
    for (unsigned chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const int row = chunk / across, column = (chunk % across * 256 + threadIdx.x) * 2;
        if (column >= n)
            continue;
        const double2 sums = pair(row * packed + column);
        const double down = power_of_two(-scales[row]);
        NUMBER* const to = C + row * ldc + column;
        const NUMBER left = sums.x * down * power_of_two(-scales[m + column]);
        if (column + 1 == n) {
            to[0] = left;
            continue;
        }
        const NUMBER right = sums.y * down * power_of_two(-scales[m + column + 1]);
        if (ldc % 2 == 0) {
            struct alignas(2 * sizeof(NUMBER)) Pair { NUMBER left, right; };
            *reinterpret_cast<Pair*>(to) = {left, right};
        } else {
            to[0] = left, to[1] = right;
        }
    }
}

// The first launch: sums up each row of A and each column of B.
extern "C" __global__ void __launch_bounds__(256)
sums(const NUMBER* A, const NUMBER* B, Sums* sums, int m, int n, int k, int a_by_columns, int b_by_columns, long long lda,
     long long ldb)
{
    sum_up_lines({{A, m, k, a_by_columns != 0, lda}, {B, n, k, b_by_columns != 0, ldb}}, sums);
}
