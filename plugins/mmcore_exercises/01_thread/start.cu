// C = A·B: A has m rows of k elements, B has k rows of n. Each thread computes one element of C.

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    // your code: the row and the column of this thread's element, from blockIdx, blockDim and threadIdx
    int row = 0;
    int column = 0;
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum += A[row * k + i] * B[i * n + column];
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
