extern "C" __global__ void tiled(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    a[threadIdx.y][threadIdx.x] = A[row * k + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[threadIdx.y * n + column];
    __syncthreads();
    C[row * n + column] = a[threadIdx.y][0] * b[0][threadIdx.x];
}
