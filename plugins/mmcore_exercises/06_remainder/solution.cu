// C = A·B by tiles in shared memory, for any m, n and k.

#define TILE 16

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < m && x < k ? A[row * k + x] : 0;
        b[threadIdx.y][threadIdx.x] = y < k && column < n ? B[y * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
