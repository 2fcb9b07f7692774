// Each of two warps waits for the other's flag before it sets its own.
// expect: deadlock
// not on: GPU
// sizes: 2x20x10
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ volatile float part[2][32];
    __shared__ volatile int ready[2];
    const int lane = threadIdx.x, warp = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (lane == 0)
        ready[warp] = 0;
    __syncthreads();
    float sum = 0.0f;
    for (int p = warp; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    part[warp][lane] = sum;
    __threadfence_block();
    __syncwarp();
    while (ready[1 - warp] == 0)
        ;
    ready[warp] = 1;
    __threadfence_block();
    if (warp == 0 && column < n)
        C[row * n + column] = sum + part[1][lane];
}
