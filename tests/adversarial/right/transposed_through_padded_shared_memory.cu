// A tile of A is transposed through shared memory with a padded row, by threads in another order.
// config: block=128
// grid: ceil(n/8), ceil(m/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float turned[16][16 + 1];
    const int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * 16 + x, column = blockIdx.x * 8 + y;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        for (int i = t; i < 256; i += 128) {
            const int r = blockIdx.y * 16 + i / 16, p = step + i % 16;
            turned[i % 16][i / 16] = r < m && p < k ? A[r * k + p] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; column < n && p < min(16, k - step); ++p)
            sum += turned[p][x] * B[(step + p) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
