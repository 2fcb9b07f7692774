// Warp y waits at barrier y for the previous warp's sums and arrives at y + 1: a chain of named barriers.
// config: block=32x4
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float handed[4][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int p = y * k / 4; column < n && p < (y + 1) * k / 4; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (y > 0) {
        asm volatile("bar.sync %0, 64;" ::"r"(y) : "memory");
        sum += handed[y - 1][x];
    }
    if (y < 3) {
        handed[y][x] = sum;
        asm volatile("bar.arrive %0, 64;" ::"r"(y + 1) : "memory");
    } else if (column < n) {
        C[row * n + column] = sum;
    }
}
