"""A __device__ count for each element, zero from the start, which the last atomicInc puts back to zero."""

DECLARED = {"grid": lambda problem, config: (-(-problem.n // 16), -(-problem.m // 16), 3)}
SIZES = ((33, 35, 37), (40, 40, 20))

SOURCE = """
#define MOST 2048
__device__ float parts[3][MOST];
__device__ unsigned counts[MOST];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    parts[blockIdx.z][i] = sum;
    __threadfence();
    if (atomicInc(&counts[i], 2) == 2) {
        __threadfence();
        C[i] = parts[0][i] + parts[1][i] + parts[2][i];
    }
}
"""
