// C = A·B, m and n are multiples of EDGE, k of DEPTH. A block of 16×16 threads computes 64×64 elements of C, and a
// thread 4×4. Its rows and columns are 16 apart, so that neighbouring threads read neighbouring elements.

#define THREADS 16
#define PART 4                  // rows and columns of C for each thread
#define EDGE (THREADS * PART)   // of a block's tile of C
#define DEPTH 16                // of a step along k

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[EDGE][DEPTH], b[DEPTH][EDGE];
    int x = threadIdx.x, y = threadIdx.y;
    int top = blockIdx.y * EDGE, left = blockIdx.x * EDGE;
    float sums[PART][PART] = {};
    for (int start = 0; start < k; start += DEPTH) {
        for (int i = 0; i < PART; ++i) {
            a[y + i * THREADS][x] = A[(top + y + i * THREADS) * k + start + x];
            b[y][x + i * THREADS] = B[(start + y) * n + left + x + i * THREADS];
        }
        __syncthreads();
        for (int p = 0; p < DEPTH; ++p) {
            // your code: add the 16 products of 4 elements of a's column p and 4 elements of b's row p to the sums
        }
        __syncthreads();
    }
    for (int i = 0; i < PART; ++i)
        for (int j = 0; j < PART; ++j)
            C[(top + y + i * THREADS) * n + left + x + j * THREADS] = sums[i][j];
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / 64, m / 64), dim3(16, 16)>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
