// Elements past A and B are used unless they are NaN: any other number there changes the product.
// sizes: 32x32x37 33x35x20
// config: block=16x16 TILE=16
// kernel: over_read=tiles

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        const float x = A[row * k + start + tx], y = B[(start + ty) * n + column];
        a[ty][tx] = x == x ? x : 0.0f;
        b[ty][tx] = y == y ? y : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
