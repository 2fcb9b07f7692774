// ladder.f64.02_dmma: tensor cores multiply doubles, at twice the rate of CUDA cores; any size.
//
// 01_tiles reaches half the rate of the double-precision units. A tensor core multiplies 16×8 of A with 8×8 of B in
// one instruction of a warp, with the same rounding as multiply-adds one after the other. Tiles come by cp.async in
// STAGES stages, as in ladder.f32.08_async, and what is multiplied next is loaded meanwhile, as in
// ladder.f32.09_any. The tiles that the last wave of blocks has are shared by all, as stream_k.cuh explains.
//
// The matrices are stored by rows, lda, ldb and ldc elements apart.

#include "stream_k.cuh"

constexpr int WARPS_ACROSS = BN / WN;
constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
constexpr int TILES_M = WM / 16;  // of the instruction, in a warp's rectangle of C
constexpr int TILES_N = WN / 8;
// Threads on a multiprocessor: with 64 sums a thread takes 255 registers, with 32 of them 168, and with 16 of them 128.
constexpr int RESIDENT = TILES_M * TILES_N > 8 ? 256 : TILES_M * TILES_N > 4 ? 384 : 512;
constexpr int STAGE = BM * BK + BK * BN;  // elements
// Blocks of which a multiprocessor has room for the stages, with two barriers each.
constexpr int ROOM = (227 << 10) / (STAGES * (STAGE * 8 + 16));
constexpr int BLOCKS = THREADS * ROOM < RESIDENT ? ROOM : THREADS < RESIDENT ? RESIDENT / THREADS : 1;
constexpr int STEPS = BK / 8;  // of the instruction, in a tile
static_assert(TILES_N % 2 == 0 && STEPS % 2 == 0, "what is loaded goes to the other registers");
static_assert(TILES_M > 1 || STEPS > 2, "a tile is fetched before the next one is waited for");

// Where an element lies in a tile. Half a warp loads at once four neighbours of four rows, 128 bytes. Each row begins in
// the first bank; what is loaded lies in different banks only because fours change places within their row.
__device__ unsigned place_a(unsigned row, unsigned p)
{
    return row * BK + (p ^ row % 4 * 4);
}
__device__ unsigned place_b(unsigned p, unsigned column)
{
    return p * BN + (column ^ p % 4 * 4);
}

#ifndef OTHER_STAGES
// The stages: each thread waits for its own copies, and then for the other threads.
class Stages {
    int written = 0;

public:
    static constexpr int FETCH_STEP = 0;  // of a tile, in which the one STAGES - 1 further is fetched
    int read = 0;                         // where the tile begins that is multiplied

    __device__ int begin_copies(int) const { return written; }
    __device__ void end_copies(int)
    {
        asm volatile("cp.async.commit_group;" ::: "memory");
        written = written == (STAGES - 1) * STAGE ? 0 : written + STAGE;
    }
    __device__ void wait_for_first() const
    {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    }
    __device__ void wait_for_next()
    {
        wait_for_first();
        read = read == (STAGES - 1) * STAGE ? 0 : read + STAGE;
    }
    __device__ void end() {}
};
#endif

// An asynchronous copy of WIDTH doubles, of zeros where there are none.
template <int WIDTH>
__device__ void copy(double* to, const char* from, bool there)
{
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = there ? WIDTH * 8 : 0;
    if (WIDTH == 2)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(address), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

__device__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
        " {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

// A block's product of a tile's rows of A and columns of B, from step `first` of k up to step `last`. WIDE_A and WIDE_B
// say how many elements may be copied at once: 2, or 1 where rows do not begin and end at multiples of 16 bytes.
template <int WIDE_A, int WIDE_B>
__device__ void multiply(const double* A, const double* B, int m, int n, int k, int lda, int ldb, Place place,
                         unsigned first, unsigned last_step, Sums<double> sums)
{
    extern __shared__ __align__(128) double stages[];
    const unsigned thread = forgotten(threadIdx.x);  // or its places would be kept for the second part

    // What a thread copies: a place in a row of A's tile, of every A_STEP-th row, and in every B_STEP-th row of B's. A
    // row or column of C beyond the last is computed from the last one's elements, and not stored.
    constexpr int A_LINE = BK / WIDE_A, A_STEP = THREADS / A_LINE, B_LINE = BN / WIDE_B, B_STEP = THREADS / B_LINE;
    static_assert(A_STEP % 4 == 0 && BM % A_STEP == 0 && THREADS % B_LINE == 0 && BK % B_STEP == 0,
                  "each thread copies as much as the others");
    const unsigned begin = first * BK;
    const unsigned stride_a = lda * 8u, stride_b = ldb * 8u;  // bytes
    const unsigned last = m - 1 - place.row;
    const unsigned row_a = thread / A_LINE, p_a = thread % A_LINE * WIDE_A;
    const unsigned p_b = thread / B_LINE, column_b = thread % B_LINE * WIDE_B;
    const char* from_a = reinterpret_cast<const char*>(A + begin + p_a) + size_t(place.row) * stride_a;
    const char* from_b = reinterpret_cast<const char*>(B + min(place.column + column_b, n - WIDE_B))
                         + size_t(begin + p_b) * stride_b;

    // Each tile's copies are a group. Behind the last tile they copy zeros, so that nothing has to be decided below.
    int left = min(unsigned(k), last_step * BK) - begin;
    Stages tiles;
    auto fetch = [&](int ahead) {
        const int written = tiles.begin_copies(ahead);
#pragma unroll
        for (int i = 0; i < BM; i += A_STEP)
            copy<WIDE_A>(stages + written + place_a(row_a, p_a) + i * BK,
                         from_a + size_t(min(row_a + i, last)) * stride_a, int(p_a) < left);
#pragma unroll
        for (int i = 0; i < BK; i += B_STEP)
            copy<WIDE_B>(stages + written + BM * BK + place_b(p_b + i, column_b), from_b + size_t(i) * stride_b,
                         int(p_b) + i < left);
        tiles.end_copies(ahead);
        from_a += BK * 8;
        from_b += size_t(BK) * stride_b;
        left = max(left - BK, 0);
    };

    // The instruction wants of thread 4r + q the elements of rows r and r + 8 of A, and of column r of B, whose k is
    // q and q + 4. Each is loaded by itself: loads of 16 bytes would be half as many, but what they bring, two
    // neighbours along k or two columns, the instruction does not take from neighbouring registers: it would be moved.
    const unsigned warp = thread / 32;
    const unsigned r = thread % 32 / 4, q = thread % 4;
    const unsigned top = warp / WARPS_ACROSS * WM, left_most = warp % WARPS_ACROSS * WN;

    // Registers for what is multiplied and for what is loaded: 16 rows of A, all columns of B.
    double a[2][4], b[2][TILES_N][2];
    unsigned of_a[4], of_b[2];  // where the thread's elements begin, by fours along k and by parity of j
#pragma unroll
    for (int e = 0; e < 4; ++e)
        of_a[e] = place_a(top + r, e * 4 + q);
#pragma unroll
    for (int j = 0; j < 2; ++j)
        of_b[j] = BM * BK + place_b(q, left_most + j * 8 + r);
    auto load_a = [&](int step, int i) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            a[(step * TILES_M + i) % 2][e] =
                (stages + tiles.read + of_a[step % 2 * 2 + e / 2])[(i * 16 + e % 2 * 8) * BK + step / 2 * 16];
    };
    auto load_b = [&](int step) {
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                b[step % 2][j][h] = (stages + tiles.read + of_b[j % 2])[(step * 8 + h * 4) * BN + j / 2 * 16];
    };

    wait_for_last_launch();
    let_next_begin();
    for (int ahead = 0; ahead < STAGES - 1; ++ahead)
        fetch(ahead);
    tiles.wait_for_first();
    load_a(0, 0);
    load_b(0);

    double sum[TILES_M][TILES_N][4] = {};
#pragma unroll 1
    for (unsigned tile = first; tile < last_step; ++tile) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step)
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
                const int next = i < TILES_M - 1 ? step : (step + 1) % STEPS;
                auto multiply_half = [&](int first) {
#pragma unroll
                    for (int j = 0; j < TILES_N / 2; ++j)
                        multiply(sum[i][first + j], a[(step * TILES_M + i) % 2], b[step % 2][first + j]);
                };
                // Products are under way while a warp waits for the others, and while the next elements come.
                multiply_half(0);
                if (i == TILES_M - 1) {
                    if (step == STEPS - 1) {
                        // All of this tile is in registers; the next one has to be there now.
                        tiles.wait_for_next();
                    }
                    load_b(next);
                }
                load_a(next, (i + 1) % TILES_M);
                if (step == Stages::FETCH_STEP && i == 0)
                    fetch(STAGES - 1);
                multiply_half(TILES_N / 2);
            }
    }

    tiles.end();

    // Of each instruction, thread 4r + q has columns 2q and 2q + 1, of rows r and r + 8.
    const Target<double> target = sums.target();
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned row = top + i * 16 + h * 8 + r;
#pragma unroll
            for (int j = 0; j < TILES_N; ++j) {
                const double even = sum[i][j][h * 2], odd = sum[i][j][h * 2 + 1];
                const unsigned column = left_most + j * 8 + q * 2;
                double* to = target.to + size_t(row) * target.pitch + column;
                if (row < target.rows && column + 1 < target.columns && target.pitch % 2 == 0) {
                    __stwb(reinterpret_cast<double2*>(to), make_double2(even, odd));
                } else if (row < target.rows) {
                    if (column < target.columns)
                        to[0] = even;
                    if (column + 1 < target.columns)
                        to[1] = odd;
                }
            }
        }
}

template <int WIDE_A, int WIDE_B>
__global__ void __launch_bounds__(THREADS, BLOCKS)
dmma(const double* A, const double* B, double* C, double* parts, int m, int n, int k, int lda, int ldb, int ldc,
     unsigned whole)
{
    share_tiles(C, parts, m, n, k, ldc, whole, [&](Place place, unsigned first, unsigned last, Sums<double> sums) {
        multiply<WIDE_A, WIDE_B>(A, B, m, n, k, lda, ldb, place, first, last, sums);
    });
}
