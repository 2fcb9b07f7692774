#include <cooperative_groups.h>
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = row < m && col < n;
    if (inside) C[(m - 1 - row) * n + col] = 0;  // by another block than adds
    cooperative_groups::this_grid().sync();
    float sum = 0;
    for (int i = 0; inside && i < k; i++) sum += A[row * k + i] * B[i * n + col];
    if (inside) C[row * n + col] += sum;
}
