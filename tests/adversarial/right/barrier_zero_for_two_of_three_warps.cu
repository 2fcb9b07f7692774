// Two warps wait at barrier 0 with a count of 64. The third writes its own row and never reaches it.
// config: block=96
// grid: ceil(n/32), ceil(m/3)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile[32][32];
    const int x = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = blockIdx.y * 3 + warp, column = blockIdx.x * 32 + x;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    if (warp == 2) {
        for (int p = 0; inside && p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
    } else {
        for (int step = 0; step < k; step += 32) {
            for (int p = warp; p < 32; p += 2)
                tile[p][x] = step + p < k && column < n ? B[(step + p) * n + column] : 0.0f;
            asm volatile("bar.sync 0, 64;" ::: "memory");
            for (int p = 0; inside && p < min(32, k - step); ++p)
                sum += A[row * k + step + p] * tile[p][x];
            asm volatile("bar.sync 0, 64;" ::: "memory");
        }
    }
    if (inside)
        C[row * n + column] = sum;
}
