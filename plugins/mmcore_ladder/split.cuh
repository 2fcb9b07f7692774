// float32 matrices as sums of PARTS matrices of 16-bit elements, for the tensor cores.
//
// bfloat16 has float32's exponents and 8 bits: three parts hold all 24 bits of a number, as long as the last part is
// no smaller than the smallest bfloat16. float16 has 11 bits, but few exponents: two parts hold 22 bits and a sign
// of a number that is SCALED first, each row of A and column of B by a power of two of its own, so that its largest
// is just below 2^15.
//
// Numbers for which that does not hold are noticed on the way, and then the CUDA cores make the product.

#pragma once

constexpr int SLICES = 16;   // of k, which blocks look through at the same time
constexpr int LARGEST = 15;  // exponent that scaled numbers are below
constexpr int RANGE = SCALED ? 14 : 0, LEAST = SCALED ? LARGEST - 1 - RANGE : -110;  // exponents that have all parts
constexpr int NONE = -1000;  // exponent of a line of zeros

// The part of k that is the block's.
struct Slice {
    int first, last;
};

__device__ Slice slice_of(int k)
{
    return {static_cast<int>(k * static_cast<long long>(blockIdx.y) / SLICES),
            static_cast<int>(k * static_cast<long long>(blockIdx.y + 1) / SLICES)};
}

// For each slice and line the exponent of the line's largest number. Lines are the matrix's rows, or its columns;
// from one row to the next there are `leading` elements. A block of 32×8 threads looks through 32 lines.
extern "C" __global__ void __launch_bounds__(256)
find_largest(const float* matrix, int* exponents, int lines, int k, int by_columns, long long leading)
{
    __shared__ float found[8][33];
    const Slice slice = slice_of(k);
    const int x = threadIdx.x, y = threadIdx.y, begin = blockIdx.x * 32;
    if (by_columns) {  // neighbouring threads have neighbouring lines
        float largest = 0;
        for (int p = slice.first + y; begin + x < lines && p < slice.last; p += 8)
            largest = fmaxf(largest, fabsf(matrix[p * leading + begin + x]));
        found[y][x] = largest;
    } else {
        for (int i = y; i < 32; i += 8) {
            float largest = 0;
            for (int p = slice.first + x; begin + i < lines && p < slice.last; p += 32)
                largest = fmaxf(largest, fabsf(matrix[(begin + i) * leading + p]));
            for (int other = 16; other; other /= 2)
                largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
            if (x < 8)
                found[x][i] = largest;
        }
    }
    __syncthreads();
    if (y == 0 && begin + x < lines) {
        float largest = 0;
        for (int i = 0; i < 8; ++i)
            largest = fmaxf(largest, found[i][x]);
        exponents[static_cast<long long>(blockIdx.y) * lines + begin + x] =
            largest == 0 ? NONE : isinf(largest) ? 128 : ilogbf(largest);
    }
}

__device__ __nv_bfloat16 nearest(float number, bool first, __nv_bfloat16*)
{
    return first ? __float2bfloat16_rz(number) : __float2bfloat16_rn(number);  // the nearest may be infinite
}

__device__ __half nearest(float number, bool first, __half*) { return __float2half_rn(number); }

// Splits the numbers of 32 lines. `doubts` gets for each block, from `first_doubt` on, whether one of its numbers
// cannot be split, `scales` each line's power of two. A row of parts begins `packed` elements after the one before.
extern "C" __global__ void __launch_bounds__(256)
split(const float* matrix, ELEMENT* parts, const int* exponents, int* scales, int* doubts, int first_doubt, int lines,
      int k, int by_columns, long long leading, long long packed)
{
    __shared__ int scale[32];
    const Slice slice = slice_of(k);
    const long long size = (by_columns ? k : lines) * packed;
    const int begin = blockIdx.x * 32;
    if (SCALED && threadIdx.x < 32) {
        const int line = begin + threadIdx.x;
        int largest = NONE;
        for (int i = 0; line < lines && i < SLICES; ++i)
            largest = max(largest, exponents[static_cast<long long>(i) * lines + line]);
        scale[threadIdx.x] = largest == NONE ? 0 : LARGEST - 1 - largest;
        if (blockIdx.y == 0 && line < lines)
            scales[line] = -scale[threadIdx.x];
    }
    __syncthreads();
    int doubt = 0;
    const int width = by_columns ? 32 : 256, length = slice.last - slice.first;
    const int rows = by_columns ? length : 32, columns = by_columns ? 32 : length;
    for (int i = threadIdx.x / width; i < rows; i += 256 / width)
        for (int j = threadIdx.x % width; j < columns; j += width) {
            const int line = begin + (by_columns ? j : i), p = slice.first + (by_columns ? i : j);
            if (line >= lines)
                continue;
            float rest = matrix[by_columns ? p * leading + line : line * leading + p];
            if (SCALED)
                rest = ldexpf(rest, scale[line - begin]);
            doubt |= !isfinite(rest) || (rest != 0 && fabsf(rest) < exp2f(LEAST));
            const long long to = by_columns ? p * packed + line : line * packed + p;
            for (int part = 0; part < PARTS; ++part) {
                const ELEMENT one = nearest(rest, part == 0, static_cast<ELEMENT*>(nullptr));
                parts[part * size + to] = one;
                rest -= static_cast<float>(one);
            }
        }
    doubt = __syncthreads_or(doubt);
    if (threadIdx.x == 0)
        doubts[first_doubt + blockIdx.y * gridDim.x + blockIdx.x] = doubt;
}

// Whether any number could not be split; all threads of a block ask.
__device__ bool any_doubt(const int* doubts, int count)
{
    int doubt = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        doubt |= doubts[i];
    return __syncthreads_or(doubt);
}

// The product in float32 by the CUDA cores, if there is a doubt or nobody looked (`count` is 0): blocks of 16×16
// threads with 4×4 elements of C each.
extern "C" __global__ void __launch_bounds__(256)
without_parts(const float* A, const float* B, float* C, const int* doubts, int count, int m, int n, int k,
              long long a_down, long long a_across, long long b_down, long long b_across, long long down,
              long long across)
{
    __shared__ float a[16][65], b[16][65];
    if (count && !any_doubt(doubts, count))
        return;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int tiles_across = (n + 63) / 64, tiles = (m + 63) / 64 * tiles_across;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int top = tile / tiles_across * 64, left = tile % tiles_across * 64;
        float sum[4][4] = {};
        for (int start = 0; start < k; start += 16) {
            for (int i = threadIdx.x; i < 1024; i += 256) {
                const int line = i / 16, p = i % 16;
                a[p][line] = top + line < m && start + p < k ? A[(top + line) * a_down + (start + p) * a_across] : 0;
                b[p][line] = left + line < n && start + p < k ? B[(start + p) * b_down + (left + line) * b_across] : 0;
            }
            __syncthreads();
            for (int p = 0; p < 16; ++p)
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < 4; ++j)
                        sum[i][j] += a[p][ty + 16 * i] * b[p][tx + 16 * j];
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                if (top + ty + 16 * i < m && left + tx + 16 * j < n)
                    C[(top + ty + 16 * i) * down + (left + tx + 16 * j) * across] = sum[i][j];
    }
}
