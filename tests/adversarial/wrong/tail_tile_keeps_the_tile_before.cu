// Beyond k nothing is loaded, and the tile of B still holds the previous tile: its terms are added again.
// sizes: 33x35x32 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        if (row < m)
            a[ty][tx] = A[row * k + min(start + tx, k - 1)];
        if (start + ty < k)
            b[ty][tx] = column < n ? B[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
