// Two warps share the sum over k. Only __syncwarp protects the values that they exchange.
// expect: shared-race
// sizes: 5x40x30
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[32];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (threadIdx.y == 1)
        part[threadIdx.x] = sum;
    __syncwarp();
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sum + part[threadIdx.x];
}
