// C = A·B by tiles in shared memory, for any m, n and k.

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    // your code: the last tile along k may have fewer than TILE columns of A and rows of B
    for (int start = 0; start + TILE <= k; start += TILE) {
        a[threadIdx.y][threadIdx.x] = row < m ? A[row * k + start + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = column < n ? B[(start + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
