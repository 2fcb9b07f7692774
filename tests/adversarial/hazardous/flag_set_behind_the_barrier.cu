// One warp waits for a flag before a barrier. The other sets the flag after it.
// expect: deadlock
// not on: GPU
// sizes: 2x20x10
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[32];
    __shared__ volatile int ready;
    const int lane = threadIdx.x, warp = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (lane == 0 && warp == 0)
        ready = 0;
    __syncthreads();
    float sum = 0.0f;
    for (int p = warp; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (warp == 1)
        part[lane] = sum;
    while (warp == 0 && ready == 0)
        ;
    __syncthreads();
    if (warp == 1 && lane == 0)
        ready = 1;
    if (warp == 0 && column < n)
        C[row * n + column] = sum + part[lane];
}
