// C = A·B, m, n and k are multiples of TILE. Copies to shared memory are asynchronous. It is right, and slow: the block
// waits for each tile, and only then multiplies.

#include <cuda_pipeline.h>

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    // your code: two stages of both tiles; the copies of the next step run while this one is multiplied
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        __pipeline_memcpy_async(&a[y][x], &A[row * k + start + x], sizeof(float));
        __pipeline_memcpy_async(&b[y][x], &B[(start + y) * n + column], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / 16, m / 16), dim3(16, 16)>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
