// 128 sums in each thread need more registers than 1024 threads can have.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = 128 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m)
        return;
    float sum[128] = {};
    for (int p = 0; p < k; ++p)
#pragma unroll
        for (int j = 0; j < 128; ++j)
            if (column + j < n)
                sum[j] += A[row * k + p] * B[p * n + column + j];
#pragma unroll
    for (int j = 0; j < 128; ++j)
        if (column + j < n)
            C[row * n + column + j] = sum[j];
}
