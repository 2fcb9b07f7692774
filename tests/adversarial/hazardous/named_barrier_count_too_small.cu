// Four warps share a tile, but the named barrier completes when any two of them have arrived.
// expect: shared-race
// sizes: 7x40x20
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[4][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 4) {
        b[warp][lane] = p + warp < k && column < n ? B[(p + warp) * n + column] : 0.0f;
        asm volatile("bar.sync 1, 64;" ::: "memory");  // 128 threads come
        for (int q = 0; q < 4 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * b[q][lane];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
