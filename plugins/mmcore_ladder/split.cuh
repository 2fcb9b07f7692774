// float32 matrices as sums of PARTS matrices of 16-bit elements, for the tensor cores.
//
// bfloat16 has float32's exponents and 8 bits: three parts hold all 24 bits of a number, as long as the last part is
// no smaller than the smallest bfloat16. float16 has 11 bits, but few exponents: two parts hold 22 bits and a sign
// of a number that is SCALED first, each row of A and column of B by a power of two of its own, so that its largest
// is just below 2^15.
//
// Numbers for which that does not hold are noticed on the way, and then the CUDA cores make the product.

#pragma once

constexpr int LARGEST = 15;  // exponent that scaled numbers are below
constexpr int RANGE = SCALED ? 14 : 0, LEAST = SCALED ? LARGEST - 1 - RANGE : -110;  // exponents that have all parts
constexpr int LINES = 16;    // of a block: rows of A, or columns of B
constexpr int DEPTH = 64;    // of k, that a block splits at once
constexpr int AHEAD = 4;     // so many times as much is loaded before the first is split

// A or B, and where its parts go: `size` elements each, rows of which begin `packed` elements apart.
struct Whole {
    const float* matrix;
    ELEMENT* parts;
    int lines, k;
    bool by_columns;  // neighbours in memory are of neighbouring lines, not neighbours along k
    long long leading, packed;

    // Four neighbours in memory, zeros where there are none.
    __device__ float4 load(int line, int p, int end) const
    {
        const float* from = matrix + (by_columns ? p * leading + line : line * leading + p);
        const int there = line >= lines || p >= end ? 0 : by_columns ? lines - line : end - p;
        if (there >= 4 && leading % 4 == 0)
            return *reinterpret_cast<const float4*>(from);
        return {there > 0 ? from[0] : 0, there > 1 ? from[1] : 0, there > 2 ? from[2] : 0, there > 3 ? from[3] : 0};
    }
};

__device__ unsigned magnitude(float number) { return __float_as_uint(number) & 0x7fffffff; }

__device__ float power_of_two(int exponent) { return __int_as_float((127 + exponent) << 23); }

__device__ __nv_bfloat16 nearest(float number, bool first, __nv_bfloat16*)
{
    return first ? __float2bfloat16_rz(number) : __float2bfloat16_rn(number);  // the nearest may be infinite
}

__device__ __half nearest(float number, bool first, __half*) { return __float2half_rn(number); }

// Stores a number's parts, and says whether it may be too small or too large for them.
__device__ bool split_number(float number, ELEMENT (&parts)[PARTS])
{
    const bool doubt = !isfinite(number) || (number != 0 && fabsf(number) < power_of_two(LEAST));
    for (int part = 0; part < PARTS; ++part) {
        parts[part] = nearest(number, part == 0, static_cast<ELEMENT*>(nullptr));
        number -= static_cast<float>(parts[part]);
    }
    return doubt;
}

// Splits both matrices. A block has LINES rows of A, or behind those of A columns of B, and one of gridDim.y slices of
// k, all of it where lines are scaled: it looks for each line's largest number first. `scales` get each line's
// power of two, `doubts` for each block whether one of its numbers cannot be split.
extern "C" __global__ void __launch_bounds__(256)
split(const float* A, const float* B, ELEMENT* parts_a, ELEMENT* parts_b, int* scales_a, int* scales_b, int* doubts,
      int m, int n, int k, int a_by_columns, int b_by_columns, long long lda, long long ldb, long long packed_a,
      long long packed_b)
{
    let_next_begin();
    const int blocks_a = (m + LINES - 1) / LINES;
    const bool is_a = blockIdx.x < blocks_a;
    const Whole whole = is_a ? Whole{A, parts_a, m, k, a_by_columns != 0, lda, packed_a}
                             : Whole{B, parts_b, n, k, b_by_columns != 0, ldb, packed_b};
    const int first = (is_a ? blockIdx.x : blockIdx.x - blocks_a) * LINES, thread = threadIdx.x;
    const int own = whole.by_columns ? thread % (LINES / 4) * 4 : thread / (DEPTH / 4);  // of the lines, the thread's
    const int next = whole.by_columns ? 1 : 0;  // lines from one of the thread's four neighbours to the next
    const int line = first + own, ahead = whole.by_columns ? thread / (LINES / 4) : thread % (DEPTH / 4) * 4;
    const int depth = (k + gridDim.y - 1) / gridDim.y + 3 & ~3;
    const int begin = blockIdx.y * depth + ahead, end = min(k, static_cast<int>(blockIdx.y + 1) * depth);

    __shared__ unsigned largest[LINES];
    float up[2][4] = {{1, 1, 1, 1}, {1, 1, 1, 1}};  // of the thread's four numbers, the two factors of their scale
    if (SCALED) {
        if (thread < LINES)
            largest[thread] = 0;
        unsigned found[4] = {};
        for (int p = begin; p < end; p += AHEAD * DEPTH) {
            float4 four[AHEAD];
            for (int i = 0; i < AHEAD; ++i)
                four[i] = whole.load(line, p + i * DEPTH, end);
            for (int i = 0; i < AHEAD; ++i) {
                found[0] = max(found[0], magnitude(four[i].x)), found[1] = max(found[1], magnitude(four[i].y));
                found[2] = max(found[2], magnitude(four[i].z)), found[3] = max(found[3], magnitude(four[i].w));
            }
        }
        __syncthreads();
        for (int e = 0; e < 4; ++e)
            atomicMax(largest + own + e * next, found[e]);
        __syncthreads();
        for (int e = 0; e < 4; ++e) {
            const unsigned bits = largest[own + e * next];
            // Infinite and NaN are left as they are, and noticed below.
            const int scale = bits == 0 || bits >= 0x7f800000 ? 0 : LARGEST - 1 - ilogbf(__uint_as_float(bits));
            up[0][e] = power_of_two(scale / 2), up[1][e] = power_of_two(scale - scale / 2);
            if (ahead == 0 && line + e * next < whole.lines)
                (is_a ? scales_a : scales_b)[line + e * next] = -scale;
        }
    }

    const long long size = (whole.by_columns ? k : whole.lines) * whole.packed;
    bool doubt = false;
    for (int p = begin; p < end; p += AHEAD * DEPTH) {
        float4 four[AHEAD];
        for (int i = 0; i < AHEAD; ++i)
            four[i] = whole.load(line, p + i * DEPTH, end);
        for (int i = 0; i < AHEAD; ++i) {
            const int at = p + i * DEPTH;
            if (line >= whole.lines || at >= end)
                continue;
            union { ELEMENT elements[4]; uint2 words; } packed[PARTS];
            const float numbers[4] = {four[i].x, four[i].y, four[i].z, four[i].w};
            for (int e = 0; e < 4; ++e) {
                ELEMENT parts[PARTS];
                doubt |= split_number(numbers[e] * up[0][e] * up[1][e], parts);
                for (int part = 0; part < PARTS; ++part)
                    packed[part].elements[e] = parts[part];
            }
            // Rows of parts end with what fills up a multiple of eight elements.
            ELEMENT* to = whole.parts + (whole.by_columns ? at * whole.packed + line : line * whole.packed + at);
            for (int part = 0; part < PARTS; ++part)
                *reinterpret_cast<uint2*>(to + part * size) = packed[part].words;
        }
    }
    doubt = __syncthreads_or(doubt);
    if (thread == 0)
        doubts[blockIdx.y * gridDim.x + blockIdx.x] = doubt;
}

// Whether any number could not be split, of `count` blocks' numbers; so it is taken to be where k is so small that count
// is 0. All threads of a block ask.
__device__ bool any_doubt(const int* doubts, int count)
{
    int doubt = count == 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        doubt |= doubts[i];
    return __syncthreads_or(doubt);
}

// A or B as it is: its lines, and elements along k, so far from each other.
struct Unsplit {
    const float* matrix;
    long long across, along;
};

// The product in float32 by the CUDA cores: of each block 256 threads, with 4×4 elements of C each, and 16·65·8 bytes.
__device__ void without_parts(Unsplit a, Unsplit b, float* C, int m, int n, int k, long long down, long long across,
                              float* memory)
{
    float (*tile_a)[65] = reinterpret_cast<float (*)[65]>(memory), (*tile_b)[65] = tile_a + 16;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int tiles_across = (n + 63) / 64, tiles = (m + 63) / 64 * tiles_across;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int top = tile / tiles_across * 64, left = tile % tiles_across * 64;
        float sum[4][4] = {};
        for (int start = 0; start < k; start += 16) {
            for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
                const int line = i / 16, p = i % 16;
                const bool there = start + p < k;
                tile_a[p][line] =
                    there && top + line < m ? a.matrix[(top + line) * a.across + (start + p) * a.along] : 0;
                tile_b[p][line] =
                    there && left + line < n ? b.matrix[(left + line) * b.across + (start + p) * b.along] : 0;
            }
            __syncthreads();
            if (threadIdx.x < 256)
                for (int p = 0; p < 16; ++p)
                    for (int i = 0; i < 4; ++i)
                        for (int j = 0; j < 4; ++j)
                            sum[i][j] += tile_a[p][ty + 16 * i] * tile_b[p][tx + 16 * j];
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j)
                if (threadIdx.x < 256 && top + ty + 16 * i < m && left + tx + 16 * j < n)
                    C[(top + ty + 16 * i) * down + (left + tx + 16 * j) * across] = sum[i][j];
    }
}
