// __syncthreads_or detects tiles of A that contain only zeros, whose products are skipped.
// config: block=16x2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile[2][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 2 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        const float mine = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
        tile[y][x] = mine;
        if (!__syncthreads_or(mine != 0.0f))
            continue;
        for (int p = 0; column < n && p < min(16, k - step); ++p)
            sum += tile[y][p] * B[(step + p) * n + column];
        if (__syncthreads_and(row < m && column < n && step + 16 >= k))
            break;
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
