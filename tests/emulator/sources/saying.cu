// A product that prints some elements, and asserts its size.
#include <cassert>
#include <cstdio>
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    if (row == 1 && col < 2) printf("element %d of %d\x1b[0m\n", col, n);
    float sum = 0;
    for (int i = 0; i < k; i++) sum += A[row * k + i] * B[i * n + col];
    assert(k < 50);
    C[row * n + col] = sum;
}
