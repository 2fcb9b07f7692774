// C = A·B, m, n and k are multiples of TILE. A block of 32×4 threads computes a tile of 32×32 elements of C. Each
// thread has 8 elements of a column, whose rows are 4 apart.

#define TILE 32
#define STEP 4            // rows of threads
#define ROWS (TILE / STEP)  // rows of C for each thread

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int top = blockIdx.y * TILE, column = blockIdx.x * TILE + threadIdx.x;
    float sums[ROWS] = {};
    for (int start = 0; start < k; start += TILE) {
        for (int y = threadIdx.y; y < TILE; y += STEP) {
            a[y][threadIdx.x] = A[(top + y) * k + start + threadIdx.x];
            b[y][threadIdx.x] = B[(start + y) * n + column];
        }
        __syncthreads();
        for (int p = 0; p < TILE; ++p) {
            float element = b[p][threadIdx.x];
            for (int i = 0; i < ROWS; ++i)
                sums[i] += a[threadIdx.y + i * STEP][p] * element;
        }
        __syncthreads();
    }
    for (int i = 0; i < ROWS; ++i)
        C[(top + threadIdx.y + i * STEP) * n + column] = sums[i];
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / 32, m / 32), dim3(32, 4)>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
