// Lanes whose column is outside C return, even within a warp: since Volta a barrier waits for the others only.
// sizes: 33x35x37 16x71x40 9x5x3
// config: block=32x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile[8][33];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 32 + x;
    if (column >= n)
        return;
    const int live = min(32, n - (int)blockIdx.x * 32);
    float sum = 0.0f;
    for (int step = 0; step < k; step += 32) {
        for (int p = x; p < 32; p += live)
            tile[y][p] = row < m && step + p < k ? A[row * k + step + p] : 0.0f;
        __syncthreads();
        for (int p = 0; p < min(32, k - step); ++p)
            sum += tile[y][p] * B[(step + p) * n + column];
        __syncthreads();
    }
    if (row < m)
        C[row * n + column] = sum;
}
