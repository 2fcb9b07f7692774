"""The even lane stores its half of the sum in C, and the odd one adds to it without __syncwarp."""

DECLARED = {"configs": [{"block": (32,)}], "grid": lambda problem, config: (-(-problem.n // 16), problem.m)}
SIZES = ((5, 40, 30),)
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 16 + threadIdx.x / 2, half = threadIdx.x % 2;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = half; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (half == 0)
        C[row * n + column] = sum;
    if (half == 1)
        C[row * n + column] += sum;
}
"""
