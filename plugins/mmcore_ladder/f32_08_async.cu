// ladder.f32.08_async: tiles are fetched ahead of their use by cp.async, in STAGES stages.
//
// 07_warp_tiles waits for each tile to come, and multiplies only then. Here the copies of the next STAGES - 1 tiles are
// on their way while one is multiplied; they go from global to shared memory without registers between. A copy of 16
// bytes cannot transpose, so A's tile is kept by rows, and a thread loads four elements of a row, which are for four
// values of k. A tile's stage is free once all threads have multiplied it: one barrier a step instead of two.
//
// m, n and k are multiples of BM, BN and BK.

constexpr int ROWS = WM / TM;     // of threads in a warp
constexpr int COLUMNS = WN / TN;  // of threads in a warp
static_assert(ROWS * COLUMNS == 32 && ROWS >= 4 && COLUMNS >= 4, "a warp has 32 threads, 4 by 8 or 8 by 4");
constexpr int WARPS_ACROSS = BN / WN;
constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
static_assert(BM * BK / 4 % THREADS == 0 && BK * BN / 4 % THREADS == 0 && THREADS % (BN / 4) == 0,
              "each thread copies as much as the others");

// The 16-byte chunks of a row of A's tile change places. LINE rows of it are 128 bytes, all of the banks. A warp loads
// the same chunk of ROWS rows at once: in their usual places the chunks of rows r and r + LINE would be in the same
// banks. So the chunks of every LINE rows are in another order.
constexpr int CHUNKS = BK / 4;  // of a row
constexpr int LINE = 8 / CHUNKS;
static_assert(CHUNKS == 2 || CHUNKS == 4 || CHUNKS == 8, "BK is 8, 16 or 32");

__device__ int place(int row, int chunk)
{
    return row * BK + (chunk ^ row % ROWS / LINE % CHUNKS) * 4;
}

__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }

// asm("…" : results : operands) inserts PTX, in which %0, %1 … are these in order; "r" is a register of 32 bits, "l" one
// of 64, "n" a constant. The instruction takes an address within shared memory, which __cvta_generic_to_shared makes.
//
// What a thread copies up to a commit_group is a group; wait_group N waits until at most N of its groups are under way.
__device__ void copy(float* to, const float* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}

// 64 sums, 32 elements of A, 8 of B and the next ones, which are loaded meanwhile, are too many for 128 registers. With
// 168, which this asks for, a multiprocessor has room for 384 threads instead of 512.
extern "C" __global__ void __launch_bounds__(THREADS, THREADS < 384 ? 384 / THREADS : 1)
async(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(128) float tile_a[STAGES][BM * BK];
    __shared__ __align__(128) float tile_b[STAGES][BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned warp = thread / 32;
    const unsigned lane = thread % 32;
    const unsigned half = lane / 16;
    const unsigned ty = lane % 2 + lane / 4 % 2 * 2 + (ROWS == 8 ? half * 4 : 0);
    const unsigned tx = lane / 2 % 2 + (lane / 4 + lane / 8) % 2 * 2 + (COLUMNS == 8 ? half * 4 : 0);
    const unsigned top = warp / WARPS_ACROSS * WM + ty;  // rows are ROWS apart: they need not be in groups any more
    const unsigned left = warp % WARPS_ACROSS * WN + tx * 4;

    // The thread's first chunk of both tiles; its others are so many rows further down.
    constexpr int A_AT_ONCE = THREADS / CHUNKS, B_AT_ONCE = THREADS / (BN / 4);
    const unsigned row = thread / CHUNKS, chunk = thread % CHUNKS;
    const unsigned p = thread / (BN / 4), column = thread % (BN / 4) * 4;
    A += (size_t(blockIdx.y) * BM + row) * k + chunk * 4;
    B += size_t(p) * n + size_t(blockIdx.x) * BN + column;

    // Begins the copies of the next tile. Each call makes a group of them, an empty one behind the last tile, so that
    // the number of groups that may be under way is always the same.
    const float* const end = A + k;
    auto fetch = [&](int stage) {
        if (A < end) {
#pragma unroll
            for (int i = 0; i < BM; i += A_AT_ONCE)
                copy(&tile_a[stage][place(row, chunk) + i * BK], A + size_t(i) * k);
#pragma unroll
            for (int i = 0; i < BK; i += B_AT_ONCE)
                copy(&tile_b[stage][p + i][column], B + size_t(i) * n);
            A += BK;
            B += size_t(BK) * n;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int stage = 0; stage < STAGES - 1; ++stage)
        fetch(stage);

    float sum[TM][TN] = {};
    int stage = 0, next = STAGES - 1;
    for (int step = 0; step < k / BK; ++step) {
        // STAGES - 2 groups may still be under way: those of the tiles behind this one. A thread waits for its own
        // copies, the barrier for everybody's. Behind the barrier all threads have also multiplied the tile before,
        // whose stage is filled next.
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch(next);

#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            float a[TM][4];
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                const float4 four = load(&tile_a[stage][place(top + i * ROWS, chunk)]);
                a[i][0] = four.x, a[i][1] = four.y, a[i][2] = four.z, a[i][3] = four.w;
            }
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                float b[TN];
#pragma unroll
                for (int j = 0; j < TN; j += 4) {
                    const float4 four = load(&tile_b[stage][chunk * 4 + p][left + j * COLUMNS]);
                    b[j] = four.x, b[j + 1] = four.y, b[j + 2] = four.z, b[j + 3] = four.w;
                }
#pragma unroll
                for (int i = 0; i < TM; ++i)
#pragma unroll
                    for (int j = 0; j < TN; ++j)
                        sum[i][j] += a[i][p] * b[j];
            }
        }
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        next = next + 1 < STAGES ? next + 1 : 0;
    }

    C += size_t(blockIdx.y) * BM * n + size_t(blockIdx.x) * BN;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        float4* to = reinterpret_cast<float4*>(&C[size_t(top + i * ROWS) * n + left]);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            __stwb(to + j / 4 * COLUMNS, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}
