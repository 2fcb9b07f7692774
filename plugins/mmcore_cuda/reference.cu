// The product that kernels are verified against: A·B and |A|·|B| in float64, each thread 4×4 elements of both.
// Nobody times it: a tile of 64×64 in shared memory is fast enough, and short enough to be read and believed.

#if defined(FLOAT64)
using Element = double;
__device__ double wide(Element x) { return x; }
#elif defined(FLOAT32) || defined(TF32)
using Element = float;
__device__ double wide(Element x) { return x; }
#elif defined(INT8)
using Element = signed char;
__device__ double wide(Element x) { return x; }
#elif defined(UINT8)
using Element = unsigned char;
__device__ double wide(Element x) { return x; }
#elif defined(INT32)
using Element = int;
__device__ double wide(Element x) { return x; }
#elif defined(FLOAT8_E4M3FN) || defined(FLOAT8_E5M2)
using Element = unsigned char;
#if defined(FLOAT8_E4M3FN)
constexpr int DIGITS = 3, BIAS = 7;
#else
constexpr int DIGITS = 2, BIAS = 15;
#endif
__device__ double wide(Element x) {
    const int exponent = (x & 127) >> DIGITS, fraction = x & ((1 << DIGITS) - 1);
    const double magnitude = exponent ? ldexp(1.0 + ldexp(1.0 * fraction, -DIGITS), exponent - BIAS)
                                      : ldexp(1.0 * fraction, 1 - BIAS - DIGITS);
    return x & 128 ? -magnitude : magnitude;
}
#elif defined(FLOAT16)
using Element = unsigned short;
__device__ double wide(Element x) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x)); return f; }
#elif defined(BFLOAT16)
using Element = unsigned short;
__device__ double wide(Element x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
#endif

constexpr int TILE = 64, DEPTH = 16, THREADS = 256, EACH = 4;

extern "C" __global__ void reference(const Element* A, const Element* B, double* product, double* magnitude,
                                     int m, int n, int k, long long a_row, long long a_column,
                                     long long b_row, long long b_column) {
    __shared__ double a[DEPTH][TILE], b[DEPTH][TILE];
    const int thread = threadIdx.x, x = thread % 16, y = thread / 16;
    const long long row0 = static_cast<long long>(blockIdx.y) * TILE, column0 = static_cast<long long>(blockIdx.x) * TILE;
    double sums[EACH][EACH] = {};
    double sizes[EACH][EACH] = {};

    for (int p0 = 0; p0 < k; p0 += DEPTH) {
        for (int index = thread; index < TILE * DEPTH; index += THREADS) {
            const int p = index % DEPTH, q = index / TILE;
            const long long row = row0 + index / DEPTH, column = column0 + index % TILE;
            a[p][index / DEPTH] = row < m && p0 + p < k ? wide(A[row * a_row + (p0 + p) * a_column]) : 0.0;
            b[q][index % TILE] = column < n && p0 + q < k ? wide(B[(p0 + q) * b_row + column * b_column]) : 0.0;
        }
        __syncthreads();
        for (int p = 0; p < DEPTH; ++p)
            for (int i = 0; i < EACH; ++i)
                for (int j = 0; j < EACH; ++j) {
                    const double left = a[p][y + 16 * i], right = b[p][x + 16 * j];
                    sums[i][j] += left * right;
                    sizes[i][j] += fabs(left) * fabs(right);
                }
        __syncthreads();
    }

    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            const long long row = row0 + y + 16 * i, column = column0 + x + 16 * j;
            if (row < m && column < n) {
                product[row * n + column] = sums[i][j];
                magnitude[row * n + column] = sizes[i][j];
            }
        }
}
