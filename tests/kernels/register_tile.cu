// Tiles of 64 rows and columns in shared memory; a thread sums 4×4 elements of C.
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ ALIGNED float a[16][ROW];
    __shared__ float b[16][64];
    int tx = threadIdx.x, ty = threadIdx.y, first = ty * 16 + tx, row = blockIdx.y * 64, col = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int t = 0; t < n; t += 16) {
        for (int i = first; i < 1024; i += 256) a[i % 16][i / 16] = A[(row + i / 16) * n + t + i % 16];
        for (int i = first; i < 1024; i += 256) b[i / 64][i % 64] = B[(t + i / 64) * n + col + i % 64];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += a[k][ty * 4 + i] * b[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) C[(row + ty * 4 + i) * n + col + tx + 16 * j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), dim3(16, 16)>>>(A, B, C, n); }
