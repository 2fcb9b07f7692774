// C = A·B by tiles in shared memory, m, n and k are multiples of TILE. The threads do not wait for each other.

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        a[threadIdx.y][threadIdx.x] = A[row * k + start + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(start + threadIdx.y) * n + column];
        // your code: when may a thread read what others have stored, and when may it store again?
        for (int i = 0; i < TILE; ++i)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
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
