// Each warp has its own shared memory, so that __syncwarp suffices.
// sizes: 6x40x70
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[4][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 32) {
        a[warp][lane] = row < m && p + lane < k ? A[row * k + p + lane] : 0.0f;
        __syncwarp();
        for (int q = 0; q < 32 && p + q < k; ++q)
            sum += a[warp][q] * (column < n ? B[(p + q) * n + column] : 0.0f);
        __syncwarp();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
