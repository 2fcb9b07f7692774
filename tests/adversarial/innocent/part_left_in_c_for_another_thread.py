"""One warp stores its part in C; behind a barrier another reads it and stores the whole sum over it."""

DECLARED = {"configs": [{"block": (32, 2)}], "grid": lambda problem, config: (-(-problem.n // 32), problem.m)}
SIZES = ((5, 40, 30),)

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k && column < n; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (threadIdx.y == 1 && column < n)
        C[i] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[i] = C[i] + sum;
}
"""
