// One warp waits at barrier 1 and then at 2, the other at 2 and then at 1.
// expect: deadlock
// not on: GPU
// sizes: 2x20x10
// config: block=32x2
// grid: ceil(n/32), m

#define SYNC(id) asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory")

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[2][32];
    const int lane = threadIdx.x, warp = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = warp; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    part[warp][lane] = sum;
    SYNC(1 + warp);
    SYNC(2 - warp);
    if (warp == 0 && column < n)
        C[row * n + column] = part[0][lane] + part[1][lane];
}
