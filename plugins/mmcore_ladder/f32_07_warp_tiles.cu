// ladder.f32.07_warp_tiles: a warp has a compact rectangle of the tile, WM×WN.
//
// A load of 16 bytes takes a pass over shared memory for every 8 threads, or for 16 of which both halves want the same.
// In 06_vectors a warp's threads stand in 2 rows of 16, which together need 2 groups of A and 16 of B at a time: 2 passes
// for each load of A and 4 for each of B, 12 in all for their 4 loads. Here they stand in 4 rows of 8 (or 8 of 4), which need less that is
// different, and in an order that lets shared memory serve 16 of them in a pass: 8 passes for the same 4 loads.
//
// m, n and k are multiples of BM, BN and BK.

constexpr int ROWS = WM / TM;     // of threads in a warp
constexpr int COLUMNS = WN / TN;  // of threads in a warp
static_assert(ROWS * COLUMNS == 32 && ROWS >= 4 && COLUMNS >= 4, "a warp has 32 threads, 4 by 8 or 8 by 4");
constexpr int WARPS_ACROSS = BN / WN;
constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
static_assert(BM * BK / 4 % THREADS == 0 && BK * BN / 4 % THREADS == 0, "each thread fetches as much as the others");
constexpr int PITCH = BM + 4;

// Four floats as one access; their address is a multiple of 16 bytes.
__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ void store(float* to, float4 four) { *reinterpret_cast<float4*>(to) = four; }

extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS)
warp_tiles(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float tile_a[BK][PITCH];
    __shared__ __align__(16) float tile_b[BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned warp = thread / 32;
    const unsigned lane = thread % 32;

    // Loads of 16 bytes are served to 8 threads in a pass, and to 16 where both eights need the same 16-byte groups.
    // So each half of the warp is a square of 4×4 threads, and each quarter has two of its 2×2 squares, on a diagonal:
    // every quarter then needs all four groups of A and all four of B.
    //     lane  0  2 | 8 10
    //           1  3 | 9 11
    //          12 14 | 4  6
    //          13 15 | 5  7
    const unsigned half = lane / 16;
    const unsigned ty = lane % 2 + lane / 4 % 2 * 2 + (ROWS == 8 ? half * 4 : 0);
    const unsigned tx = lane / 2 % 2 + (lane / 4 + lane / 8) % 2 * 2 + (COLUMNS == 8 ? half * 4 : 0);
    const unsigned top = warp / WARPS_ACROSS * WM + ty * 4;   // the first row of the thread's first group
    const unsigned left = warp % WARPS_ACROSS * WN + tx * 4;  // the first column

    A += size_t(blockIdx.y) * BM * k;
    B += size_t(blockIdx.x) * BN;

    float sum[TM][TN] = {};
    for (int step = 0; step < k / BK; ++step) {
        for (int i = 0; i < BM * BK / 4; i += THREADS) {
            const unsigned chunk = i + thread;
            const unsigned row = chunk / 2 % BM, p = chunk % 2 * 4 + chunk / (2 * BM) * 8;
            const float4 a = load(&A[size_t(row) * k + p]);
            tile_a[p][row] = a.x;
            tile_a[p + 1][row] = a.y;
            tile_a[p + 2][row] = a.z;
            tile_a[p + 3][row] = a.w;
        }
        for (int i = 0; i < BK * BN / 4; i += THREADS) {
            const unsigned p = (i + thread) / (BN / 4), column = (i + thread) % (BN / 4) * 4;
            store(&tile_b[p][column], load(&B[size_t(p) * n + column]));
        }
        __syncthreads();

#pragma unroll
        for (int p = 0; p < BK; ++p) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                store(&a[i], load(&tile_a[p][top + i * ROWS]));
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                store(&b[j], load(&tile_b[p][left + j * COLUMNS]));
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
        A += BK;
        B += size_t(BK) * n;
    }

    C += size_t(blockIdx.y) * BM * n + size_t(blockIdx.x) * BN;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const unsigned row = top + i / 4 * 4 * ROWS + i % 4;
        float4* to = reinterpret_cast<float4*>(&C[size_t(row) * n + left]);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            __stwb(to + j / 4 * COLUMNS, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}
