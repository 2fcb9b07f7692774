// Volatile accesses, fences of every scope and barriers are used without need: slow, but right.

extern "C" __global__ void f(const volatile float* A, const float* B, volatile float* C, int m, int n, int k)
{
    __shared__ volatile float mine[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    mine[ty][tx] = 0.0f;
    __threadfence_block();
    __syncthreads();
    for (int p = 0; p < k && row < m && column < n; ++p)
        mine[ty][tx] = mine[ty][tx] + A[row * k + p] * B[p * n + column];
    __threadfence();
    __syncwarp();
    __syncthreads();
    if (row < m && column < n)
        C[row * n + column] = mine[ty][tx];
    __threadfence_system();
}
