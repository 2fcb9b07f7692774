"""Eight warps add to sums in shared memory, atomically; the first warp reads them before the others have added."""

SIZES = ((5, 40, 30),)
DECLARED = {"configs": [{"block": (32, 8)}], "grid": lambda problem, config: (-(-problem.n // 32), problem.m)}
EXPECTED = {"check": "shared-race"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float sums[32];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y == 0)
        sums[threadIdx.x] = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 8)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    atomicAdd(&sums[threadIdx.x], sum);
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sums[threadIdx.x];
}
"""
