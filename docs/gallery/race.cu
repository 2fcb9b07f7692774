// Tiles that are overwritten while other threads still read them.
__global__ void product(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int step = 0; step < k; step += 16) {
        a[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0;
        b[y][x] = column < n && step + y < k ? B[(step + y) * n + column] : 0;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += a[y][p] * b[p][x];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
