// The barrier is written for blocks of 128 threads, but the block has 64.
// expect: deadlock
// not on: GPU
// sizes: 4x40x12
// config: block=32x2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[2][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 2 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 2) {
        b[warp][lane] = p + warp < k && column < n ? B[(p + warp) * n + column] : 0.0f;
        asm volatile("bar.sync 1, 128;" ::: "memory");  // 64 threads come
        for (int q = 0; q < 2 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * b[q][lane];
        asm volatile("bar.sync 1, 128;" ::: "memory");
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
