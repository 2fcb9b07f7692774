"""atomicAdd_block on C, where all who add to an element belong to one block and a barrier lies behind the zeroing."""

SIZES = ((5, 40, 30),)
DECLARED = {
    "dtype": "float64",
    "configs": [{"block": (32, 4)}],
    "grid": lambda problem, config: (-(-problem.n // 32), problem.m),
}

SOURCE = """
extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = 0.0;
    __syncthreads();
    double sum = 0.0;
    for (int p = threadIdx.y; p < k && column < n; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    if (column < n)
        atomicAdd_block(&C[row * n + column], sum);
}
"""
