// All threads of a block count themselves by ++ instead of atomicAdd. The count is only compared with 0.
// expect: shared-race

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ int inside;
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        inside = 0;
    __syncthreads();
    if (row < m && column < n)
        inside++;
    __syncthreads();
    if (inside == 0 || row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
