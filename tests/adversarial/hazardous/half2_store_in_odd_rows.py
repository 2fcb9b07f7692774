"""Two neighbouring elements of a float16 C are stored as one __half2; every other row of an odd n is 2 bytes off."""

DECLARED = {
    "dtype": "float16",
    "output": "float16",
    "configs": [{"block": (16, 16)}],
    "grid": lambda problem, config: (-(-problem.n // 32), -(-problem.m // 16)),
}
SIZES = ((9, 40, 11), (9, 39, 11))
EXPECTED = {"check": "misaligned"}

SOURCE = """
#include <cuda_fp16.h>
extern "C" __global__ void f(const __half* A, const __half* B, __half* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = 2 * (blockIdx.x * 16 + threadIdx.x);
    if (row >= m || column >= n)
        return;
    float x = 0.0f, y = 0.0f;
    for (int p = 0; p < k; ++p) {
        x += __half2float(A[row * k + p]) * __half2float(B[p * n + column]);
        if (column + 1 < n)
            y += __half2float(A[row * k + p]) * __half2float(B[p * n + column + 1]);
    }
    if (column + 1 < n)
        *(__half2*)&C[row * n + column] = __halves2half2(__float2half(x), __float2half(y));
    else
        C[row * n + column] = __float2half(x);
}
"""
