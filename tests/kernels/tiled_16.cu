__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k; p += 16) {
        a[threadIdx.y][threadIdx.x] = row < m && p + threadIdx.x < k ? A[row * k + p + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = p + threadIdx.y < k && col < n ? B[(p + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();  // until all have read
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
