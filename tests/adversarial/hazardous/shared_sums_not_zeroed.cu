// Eight warps add to sums in dynamic shared memory, which is never set to zero.
// expect: uninitialized-read
// sizes: 5x40x30
// config: block=32x8
// launch: f<<<(ceil(n/32), m), (32, 8), 128>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ float sums[];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 8)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    atomicAdd(&sums[threadIdx.x], sum);
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sums[threadIdx.x];
}
