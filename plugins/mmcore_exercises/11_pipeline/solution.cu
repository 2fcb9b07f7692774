// C = A·B, m, n and k are multiples of TILE. The copies of the next step run while this one is multiplied.

#include <cuda_pipeline.h>

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[2][TILE][TILE], b[2][TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    auto fetch = [&](int stage, int start) {
        __pipeline_memcpy_async(&a[stage][y][x], &A[row * k + start + x], sizeof(float));
        __pipeline_memcpy_async(&b[stage][y][x], &B[(start + y) * n + column], sizeof(float));
        __pipeline_commit();
    };
    fetch(0, 0);
    float sum = 0;
    int stage = 0;
    for (int start = 0; start < k; start += TILE) {
        __pipeline_wait_prior(0);
        __syncthreads();  // the tile has come, and all threads have multiplied the one before
        if (start + TILE < k)
            fetch(1 - stage, start + TILE);
        for (int i = 0; i < TILE; ++i)
            sum += a[stage][y][i] * b[stage][i][x];
        stage = 1 - stage;
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
