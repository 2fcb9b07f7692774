// C = A·B, m, n and k are multiples of TILE. A's tile is stored by columns, so that a thread finds its 4 elements of a
// column in one row. It is right, and slow: a warp stores a row of A to one bank.

#define TILE 32
#define ROWS 4  // of C for each thread

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    // your code: the rows of a are 32 floats apart, which is once around the 32 banks
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y * ROWS;  // of the first of 4 elements
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float sums[ROWS] = {};
    for (int start = 0; start < k; start += TILE) {
        for (int i = 0; i < ROWS; ++i) {
            a[x][y + i] = A[(top + y + i) * k + start + x];
            b[y + i][x] = B[(start + y + i) * n + left + x];
        }
        __syncthreads();
        for (int p = 0; p < TILE; ++p)
            for (int i = 0; i < ROWS; ++i)
                sums[i] += a[p][y + i] * b[p][x];
        __syncthreads();
    }
    for (int i = 0; i < ROWS; ++i)
        C[(top + y + i) * n + left + x] = sums[i];
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, m * k * sizeof(float));
    cudaMallocManaged(&B, k * n * sizeof(float));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / 32, m / 32), dim3(32, 8)>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
