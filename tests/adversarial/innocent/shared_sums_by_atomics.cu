// Eight warps add to sums in shared memory, which are zeroed before one barrier and read after the next.
// sizes: 5x40x30
// config: block=32x8
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float sums[32];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y == 0)
        sums[threadIdx.x] = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k && column < n; p += 8)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&sums[threadIdx.x], sum);
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sums[threadIdx.x];
}
