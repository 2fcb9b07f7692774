// Blocks right of the first read the tile of A transposed.
// sizes: 33x16x37 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = start + ty < k && column < n ? B[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += (blockIdx.x == 0 ? a[ty][p] : a[p][ty]) * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
