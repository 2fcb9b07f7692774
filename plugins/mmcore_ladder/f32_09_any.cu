// ladder.f32.09_any: any sizes, leading dimensions and layouts, and what else CUDA cores allow.
//
// In 08_async multiply-adds wait for loads from shared memory, and copies for the L2 cache. Here a thread loads
// elements for the next k while it multiplies those of this one, and has up to 8×16 sums, 128 multiply-adds
// for 6 loads. Blocks that run at the same time share rows and columns.
//
// The tiles that the last wave of blocks has are shared by all, as stream_k.cuh explains.
//
// What is left is the order of multiply-adds. One is begun each cycle if it finds its operands: a register bank, of
// odd or of even registers, hands out one a cycle, and the third has to be kept from the multiply-add before. So the
// columns of sums are gone through up and down in turns: within one the element of b is kept, and from one to the next
// that of a. The compiler chooses banks so that the other two differ, but not where stores of 16 bytes ask for
// sums in consecutive registers; elements of C are stored one by one, which takes less time than that.
//
// A_BY_COLUMNS and B_BY_COLUMNS say how A and B are stored. Both tiles have k as their first index, whatever the
// layout: where neighbours along k are neighbours in memory, copies of 4 bytes transpose.

#include "stream_k.cuh"

constexpr int ROWS = WM / TM;     // of threads in a warp
constexpr int COLUMNS = WN / TN;  // of threads in a warp
static_assert(ROWS * COLUMNS == 32 && ROWS >= 4 && COLUMNS >= 4, "a warp has 32 threads, 4 by 8 or 8 by 4");
static_assert(BK % 2 == 0, "a tile's first elements are always loaded to the same registers");
constexpr int WARPS_ACROSS = BN / WN;
constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
// Threads on a multiprocessor. With 128 sums a thread takes up to 255 registers, which there are for 256 threads.
constexpr int SUMS = TM * TN;
constexpr int RESIDENT = SUMS > 64 ? 256 : SUMS > 32 && THREADS <= 128 ? 384 : SUMS > 16 ? 512 : 768;
constexpr int BLOCKS = RESIDENT > THREADS ? RESIDENT / THREADS : 1;

__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }

// An asynchronous copy of WIDTH floats, of zeros where there are none: which costs one instruction, no branch.
template <int WIDTH>
__device__ void copy(float* to, const char* from, bool there)
{
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = there ? WIDTH * 4 : 0;
    if (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(address), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

// What a thread copies of a matrix's tiles: BK by EXTENT elements, where EXTENT is BM of A and BN of B. A row or column
// of C beyond the last is computed from the last one's elements, and not stored; so only k has an end to look for.
//
// Along: elements that are neighbours in a row of the tile are neighbours in the matrix. WIDTH of them are a copy.
template <int EXTENT, bool ACROSS, int WIDTH>
struct Copies {
    static constexpr int PITCH = EXTENT;  // from one row of the tile to the next
    static constexpr int LINE = EXTENT / WIDTH;
    static constexpr int STEP = THREADS / LINE;  // rows of the tile that the block copies at once
    static_assert(THREADS % LINE == 0 && BK % STEP == 0, "each thread copies as much as the others");

    const char* from;
    unsigned stride;  // bytes from one k to the next

    // `matrix` begins at the tiles' first k; `first` is the tiles' first row of A or column of B, of `extent` in all.
    __device__ Copies(const float* matrix, int leading, unsigned first, unsigned extent) : stride(leading * 4u)
    {
        const unsigned p = threadIdx.x / LINE, x = threadIdx.x % LINE * WIDTH;
        from = reinterpret_cast<const char*>(matrix + min(first + x, extent - WIDTH)) + size_t(p) * stride;
    }

    // Begins the copies of a tile of which `left` k are there, and goes to the next.
    __device__ void fetch(float* tile, int left)
    {
        const unsigned thread = threadIdx.x, p = thread / LINE, x = thread % LINE * WIDTH;
#pragma unroll
        for (int i = 0; i < BK; i += STEP)
            copy<WIDTH>(tile + (p + i) * PITCH + x, from + size_t(i) * stride, int(p) + i < left);
        from += size_t(BK) * stride;
    }
};

// Across: they are a row or column of the matrix apart. Eight threads copy eight neighbours of the matrix (a sector) to
// a column of the tile; four words behind each row of it put the 32 elements of a warp into different banks.
template <int EXTENT>
struct Copies<EXTENT, true, 1> {
    static constexpr int PITCH = EXTENT + 4;
    static constexpr int STEP = THREADS / 8;
    static_assert(BK % 8 == 0 && EXTENT % STEP == 0, "each thread copies as much as the others");

    const char* from;
    unsigned stride;  // bytes from one row of A, or column of B, to the next
    unsigned last;    // row or column of the matrix, counted from the tiles' first

    __device__ Copies(const float* matrix, int leading, unsigned first, unsigned extent)
        : stride(leading * 4u), last(extent - 1 - first)
    {
        from = reinterpret_cast<const char*>(matrix + threadIdx.x % 8) + size_t(first) * stride;
    }

    __device__ void fetch(float* tile, int left)
    {
        const unsigned thread = threadIdx.x, p = thread % 8, x = thread / 8;
#pragma unroll
        for (int i = 0; i < EXTENT; i += STEP) {
            const char* at = from + size_t(min(x + i, last)) * stride;
#pragma unroll
            for (int q = 0; q < BK; q += 8)
                copy<1>(tile + (p + q) * PITCH + x + i, at + q * 4, int(p) + q < left);
        }
        from += BK * 4;
    }
};

// A block's product of a tile's rows of A and columns of B, from step `first` of k up to step `last`.
template <int WIDE_A, int WIDE_B>
__device__ void multiply(const float* A, const float* B, int m, int n, int k, int lda, int ldb, Place place,
                         unsigned first, unsigned last, Sums<float> sums)
{
    using CopiesA = Copies<BM, !A_BY_COLUMNS, A_BY_COLUMNS ? WIDE_A : 1>;
    using CopiesB = Copies<BN, B_BY_COLUMNS, B_BY_COLUMNS ? 1 : WIDE_B>;
    constexpr int TILE_A = BK * CopiesA::PITCH;
    constexpr int STAGE = TILE_A + BK * CopiesB::PITCH;
    extern __shared__ __align__(128) float stages[];

    const size_t start = size_t(first) * BK;
    int left = min(unsigned(k), last * BK) - start;  // of k, of which no copy has begun
    CopiesA copies_a(A + (A_BY_COLUMNS ? start * lda : start), lda, place.row, m);
    CopiesB copies_b(B + (B_BY_COLUMNS ? start : start * ldb), ldb, place.column, n);

    // Each tile's copies are a group. Behind the last tile they copy zeros, so that nothing has to be decided below.
    int written = 0;
    auto fetch = [&] {
        copies_a.fetch(stages + written, left);
        copies_b.fetch(stages + written + TILE_A, left);
        asm volatile("cp.async.commit_group;" ::: "memory");
        left = max(left - BK, 0);
        written = written == (STAGES - 1) * STAGE ? 0 : written + STAGE;
    };

    // The thread's place in the warp as in 07_warp_tiles: a load of 16 bytes takes two passes.
    const unsigned thread = forgotten(threadIdx.x);  // or its place would be kept for the second part
    const unsigned warp = thread / 32;
    const unsigned lane = thread % 32;
    const unsigned half = lane / 16;
    const unsigned ty = lane % 2 + lane / 4 % 2 * 2 + (ROWS == 8 ? half * 4 : 0);
    const unsigned tx = lane / 2 % 2 + (lane / 4 + lane / 8) % 2 * 2 + (COLUMNS == 8 ? half * 4 : 0);
    const unsigned top = warp / WARPS_ACROSS * WM + ty * 4;
    const unsigned left_most = warp % WARPS_ACROSS * WN + tx * 4;

    // Elements for two values of k: one that is multiplied, one that is loaded.
    float a[2][TM], b[2][TN];
    int read = 0;
    auto load_step = [&](int p) {
        const float* from_a = stages + read + top + p * CopiesA::PITCH;
        const float* from_b = stages + read + TILE_A + left_most + p * CopiesB::PITCH;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const float4 four = load(from_b + j * COLUMNS);
            b[p % 2][j] = four.x, b[p % 2][j + 1] = four.y, b[p % 2][j + 2] = four.z, b[p % 2][j + 3] = four.w;
        }
#pragma unroll
        for (int i = 0; i < TM; i += 4) {
            const float4 four = load(from_a + i * ROWS);
            a[p % 2][i] = four.x, a[p % 2][i + 1] = four.y, a[p % 2][i + 2] = four.z, a[p % 2][i + 3] = four.w;
        }
    };

    wait_for_last_launch();
    let_next_begin();
    for (int stage = 0; stage < STAGES - 1; ++stage)
        fetch();
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
    __syncthreads();
    load_step(0);

    float sum[TM][TN] = {};
#pragma unroll 1
    for (int step = last - first; step > 0; --step) {
#pragma unroll
        for (int p = 0; p < BK; ++p) {
            if (p == BK - 1) {
                // All of this tile is in registers. The next one has to be there now, and once all threads have come
                // here, this one's stage can be filled again.
                asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
                __syncthreads();
                read = read == (STAGES - 1) * STAGE ? 0 : read + STAGE;
            }
            // Of all orders of copies, loads and columns this one leaves the fewest conflicts of register banks.
            if (p == 0)
                fetch();
            load_step((p + 1) % BK);
#pragma unroll
            for (int t = 0; t < TM * TN; ++t) {
                const int j = TN - 1 - t / TM, i = j % 2 ? TM - 1 - t % TM : t % TM;
                sum[i][j] += a[p % 2][i] * b[p % 2][j];
            }
        }
    }

    const Target<float> target = sums.target();
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const unsigned row = top + i / 4 * 4 * ROWS + i % 4;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const unsigned column = left_most + j / 4 * 4 * COLUMNS + j % 4;
            if (row < target.rows && column < target.columns)
                target.to[size_t(row) * target.pitch + column] = sum[i][j];
        }
    }
}

// WIDE_A and WIDE_B say how many elements a copy has where the tile lies along: 4 or 1.
template <int WIDE_A, int WIDE_B>
__global__ void __launch_bounds__(THREADS, BLOCKS)
any(const float* A, const float* B, float* C, float* parts, int m, int n, int k, int lda, int ldb, int ldc,
    unsigned whole)
{
    share_tiles(C, parts, m, n, k, ldc, whole, [&](Place place, unsigned first, unsigned last, Sums<float> sums) {
        multiply<WIDE_A, WIDE_B>(A, B, m, n, k, lda, ldb, place, first, last, sums);
    });
}
