"""One warp waits for a flag before a barrier; the other sets the flag behind it."""

DECLARED = {"configs": [{"block": (32, 2)}], "grid": lambda problem, config: (-(-problem.n // 32), problem.m)}
SIZES = ((2, 20, 10),)
EXPECTED = {"check": "deadlock"}
GPU = False  # The warps wait for ever.

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[32];
    __shared__ volatile int ready;
    const int lane = threadIdx.x, warp = threadIdx.y, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (lane == 0 && warp == 0)
        ready = 0;
    __syncthreads();
    float sum = 0.0f;
    for (int p = warp; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (warp == 1)
        part[lane] = sum;
    while (warp == 0 && ready == 0)
        ;
    __syncthreads();
    if (warp == 1 && lane == 0)
        ready = 1;
    if (warp == 0 && column < n)
        C[row * n + column] = sum + part[lane];
}
"""
