// Warps outside C return before the barriers, which wait for the remaining warps. These load the whole tile.
// sizes: 6x40x21
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[8][32];
    const int lane = threadIdx.x, warp = threadIdx.y, warps = min(4, m - (int)blockIdx.y * 4);
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    if (warp >= warps)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 8) {
        for (int q = warp; q < 8; q += warps)
            b[q][lane] = p + q < k && column < n ? B[(p + q) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 8 && p + q < k; ++q)
            sum += A[row * k + p + q] * b[q][lane];
        __syncthreads();
    }
    if (column < n)
        C[row * n + column] = sum;
}
