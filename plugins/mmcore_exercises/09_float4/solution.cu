// C = A·B, m, n and k are multiples of TILE. A block of 8×32 threads computes 32×32 elements of C: each thread has 4
// neighbours in a row. A thread copies 4 neighbouring floats at once.

#define TILE 32

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ __align__(16) float a[TILE][TILE], b[TILE][TILE];
    int y = threadIdx.y, x = threadIdx.x * 4;  // of the first of 4 elements
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sums[4] = {};
    for (int start = 0; start < k; start += TILE) {
        *reinterpret_cast<float4 *>(&a[y][x]) = *reinterpret_cast<const float4 *>(&A[row * k + start + x]);
        *reinterpret_cast<float4 *>(&b[y][x]) = *reinterpret_cast<const float4 *>(&B[(start + y) * n + column]);
        __syncthreads();
        for (int p = 0; p < TILE; ++p)
            for (int j = 0; j < 4; ++j)
                sums[j] += a[y][p] * b[p][x + j];
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        C[row * n + column + j] = sums[j];
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / 32, m / 32), dim3(8, 32)>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
