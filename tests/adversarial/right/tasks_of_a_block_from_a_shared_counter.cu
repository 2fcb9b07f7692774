// The warps of a block fetch rows from an atomic counter in shared memory.
// config: block=32x4
// grid: ceil(n/32), 2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ int next, taken[4];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x;
    if (x == 0 && y == 0)
        next = blockIdx.y;
    __syncthreads();
    while (true) {
        if (x == 0)
            taken[y] = atomicAdd(&next, 2);
        __syncwarp();
        const int row = taken[y];
        __syncwarp();
        if (row >= m)
            return;
        float sum = 0.0f;
        for (int p = 0; column < n && p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        if (column < n)
            C[row * n + column] = sum;
    }
}
