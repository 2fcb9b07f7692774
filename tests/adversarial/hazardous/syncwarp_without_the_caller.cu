// All lanes call __syncwarp with a mask of the lower half: the result is undefined for the upper half.
// expect: divergent-barrier
// not on: GPU
// sizes: 6x40x70
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[4][16];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        if (lane < 16)
            a[warp][lane] = row < m && p + lane < k ? A[row * k + p + lane] : 0.0f;
        __syncwarp(0x0000ffff);
        for (int q = 0; q < 16 && p + q < k; ++q)
            sum += a[warp][q] * (column < n ? B[(p + q) * n + column] : 0.0f);
        __syncwarp(0x0000ffff);
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
