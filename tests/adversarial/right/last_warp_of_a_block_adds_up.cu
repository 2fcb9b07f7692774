// Four warps compute parts of k. The thread that arrives last in a column adds up the others' sums.
// config: block=32x4
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float parts[4][32];
    __shared__ unsigned counts[32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + x;
    if (y == 0)
        counts[x] = 0;
    __syncthreads();
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = y; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    parts[y][x] = sum;
    __threadfence_block();
    if (atomicInc(&counts[x], 3) != 3)
        return;
    __threadfence_block();
    C[row * n + column] = (parts[0][x] + parts[1][x]) + (parts[2][x] + parts[3][x]);
}
