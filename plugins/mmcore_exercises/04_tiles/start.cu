// C = A·B, m, n and k are multiples of TILE. It is right, and slow: a block reads each element of A and B 16 times.

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        // your code: copy a tile of A and one of B to shared memory, an element of each by each thread; sum from there
        for (int i = start; i < start + TILE; ++i)
            sum += A[row * k + i] * B[i * n + column];
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
