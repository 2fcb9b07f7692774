// Whole tiles are loaded past the matrices, as declared, and the excess is multiplied by 0: NaN stays NaN.
// sizes: 32x32x32 32x32x37
// config: block=16x16 TILE=16
// kernel: over_read=tiles

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a[ty][tx] = A[row * k + start + tx] * (start + tx < k);
        b[ty][tx] = B[(start + ty) * n + column] * (start + ty < k);
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
