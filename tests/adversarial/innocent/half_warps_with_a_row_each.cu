// Each half of a warp synchronizes by its own mask, and has its own row in shared memory.
// sizes: 7x20x37
// config: block=16x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[8][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, column = blockIdx.x * 16 + tx;
    const unsigned half = ty % 2 == 0 ? 0x0000ffffu : 0xffff0000u;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        a[ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        __syncwarp(half);
        for (int q = 0; q < 16 && p + q < k; ++q)
            sum += a[ty][q] * (column < n ? B[(p + q) * n + column] : 0.0f);
        __syncwarp(half);
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
