// The first warp zeroes the shared sums, but no barrier keeps the other warps from adding to them earlier.
// expect: shared-race
// sizes: 5x40x30
// config: block=32x8
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float sums[32];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y == 0)
        sums[threadIdx.x] = 0.0f;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 8)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    atomicAdd(&sums[threadIdx.x], sum);
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sums[threadIdx.x];
}
