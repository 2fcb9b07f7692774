// One warp announces its sums by a volatile flag in shared memory. No fence orders sums and flag.
// expect: shared-race
// sizes: 5x40x30
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[32];
    __shared__ volatile int ready[32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (threadIdx.y == 0)
        ready[lane] = 0;
    __syncthreads();
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (threadIdx.y == 1) {
        part[lane] = sum;
        ready[lane] = 1;
    } else {
        while (ready[lane] == 0)
            ;
        __syncwarp();
        if (column < n)
            C[row * n + column] = sum + part[lane];
    }
}
