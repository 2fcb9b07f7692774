// A flag in shared memory is set where a sum is NaN, but never cleared before.
// expect: uninitialized-read

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ volatile int spoilt;
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = 0; p < k && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (isnan(sum))
        spoilt = 1;
    __syncthreads();
    if (inside)
        C[row * n + column] = spoilt == 1 ? 0.0f : sum;
}
