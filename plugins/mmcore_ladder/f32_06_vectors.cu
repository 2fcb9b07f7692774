// ladder.f32.06_vectors: loads and stores of 16 bytes.
//
// 05_register_tile makes 16 loads from shared memory for 64 multiply-adds, each an instruction that takes the place
// of a multiply-add. Here an instruction loads four floats: 4 loads for 64. What a thread needs at once has to lie
// side by side for that. In a row of B it does; A's tile is stored transposed, so that a column of A is a row of the
// tile.
//
// m, n and k are multiples of BM, BN and BK; each is a multiple of 8.

constexpr int ROWS = BM / TM;
constexpr int COLUMNS = BN / TN;
constexpr int THREADS = ROWS * COLUMNS;
static_assert(BM * BK / 4 % THREADS == 0 && BK * BN / 4 % THREADS == 0, "each thread fetches as much as the others");
constexpr int PITCH = BM + 4;  // from one row of the transposed tile to the next, see below

// Four floats as one access; their address is a multiple of 16 bytes.
__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ void store(float* to, float4 four) { *reinterpret_cast<float4*>(to) = four; }

extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS)
vectors(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float tile_a[BK][PITCH];
    __shared__ __align__(16) float tile_b[BK][BN];

    const unsigned thread = threadIdx.x;
    const unsigned tx = thread % COLUMNS;
    const unsigned ty = thread / COLUMNS;

    A += size_t(blockIdx.y) * BM * k;
    B += size_t(blockIdx.x) * BN;

    float sum[TM][TN] = {};
    for (int step = 0; step < k / BK; ++step) {
        // Two neighbouring threads fetch eight neighbours of a row of A, a sector of 32 bytes. The four stores of a
        // thread go to four rows of the tile, in which a warp has 16 places each for p and p + 4. With rows of BM words
        // both would be in the same banks; four words more move them 16 banks apart.
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
            // A thread's rows and columns are in groups of four now; the groups are as far apart as the rows and
            // columns were in 05_register_tile.
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                store(&a[i], load(&tile_a[p][i * ROWS + ty * 4]));
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                store(&b[j], load(&tile_b[p][j * COLUMNS + tx * 4]));
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
        const unsigned row = i / 4 * 4 * ROWS + ty * 4 + i % 4;
        float4* to = reinterpret_cast<float4*>(&C[size_t(row) * n + tx * 4]);
        // __stwb is a common store, as one instruction: the compiler would take some of these apart into four.
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            __stwb(to + j / 4 * COLUMNS, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}
