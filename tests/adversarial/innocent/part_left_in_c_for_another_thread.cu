// One warp stores its part in C. After a barrier another warp reads it and overwrites it with the whole sum.
// sizes: 5x40x30
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k && column < n; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (threadIdx.y == 1 && column < n)
        C[i] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[i] = C[i] + sum;
}
