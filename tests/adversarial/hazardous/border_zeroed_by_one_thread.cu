// Thread 0 zeroes the last row of the block's tile, and after a barrier other threads overwrite it with sums.
// expect: warning: overwritten-output

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        const int border = min(m, row + 16) - 1;
        for (int j = column; j < min(n, column + 16); ++j)
            C[border * n + j] = 0.0f;
    }
    __syncthreads();
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
