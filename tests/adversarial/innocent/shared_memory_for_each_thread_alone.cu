// Each thread keeps four private partial sums in shared memory, which need no barrier.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[4][256];
    const int t = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    for (int i = 0; i < 4; ++i)
        part[i][t] = 0.0f;
    if (row >= m || column >= n)
        return;
    for (int p = 0; p < k; ++p)
        part[p % 4][t] += A[row * k + p] * B[p * n + column];
    C[row * n + column] = part[0][t] + part[1][t] + part[2][t] + part[3][t];
}
