// Threads stage a column of B each in their own part of shared memory, without any barrier.
// config: block=32x4
// grid: ceil(n/32), 1

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float slot[8][4][32];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x;
    if (column >= n)
        return;
    for (int row = y; row < m; row += 4) {
        float sum = 0.0f;
        for (int step = 0; step < k; step += 8) {
            const int depth = min(8, k - step);
            for (int p = 0; p < depth; ++p)
                slot[p][y][x] = B[(step + p) * n + column];
            for (int p = 0; p < depth; ++p)
                sum += A[row * k + step + p] * slot[p][y][x];
        }
        C[row * n + column] = sum;
    }
}
