// Bytes, doubles and floats are at offsets in one dynamic shared array, beside a static array.
// launch: f<<<(ceil(n/16), ceil(m/16)), block, 3184>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ __align__(16) unsigned char pool[];
    __shared__ float tile_b[16][16];
    unsigned char* const inside_row = pool;
    unsigned char* const inside_column = pool + 16;
    double* const sums = (double*)(pool + 48);
    float (*tile_a)[17] = (float (*)[17])(pool + 48 + 256 * sizeof(double));
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    if (y == 0)
        inside_row[x] = blockIdx.y * 16 + x < m;
    if (y == 1)
        inside_column[x] = column < n;
    sums[y * 16 + x] = 0.0;
    __syncthreads();
    for (int step = 0; step < k; step += 16) {
        tile_a[x][y] = inside_row[y] && step + x < k ? A[row * k + step + x] : 0.0f;
        tile_b[y][x] = step + y < k && inside_column[x] ? B[(step + y) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sums[y * 16 + x] += (double)tile_a[p][y] * tile_b[p][x];
        __syncthreads();
    }
    if (inside_row[y] && inside_column[x])
        C[row * n + column] = (float)sums[y * 16 + x];
}
