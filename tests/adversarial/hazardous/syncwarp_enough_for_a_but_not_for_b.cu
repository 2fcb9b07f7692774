// __syncwarp suffices for A, as a warp uses only its own row, but not for B's tile, which all warps load.
// expect: shared-race
// sizes: 9x40x50
// config: block=32x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[8][32], b[32][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 8 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 32) {
        a[warp][lane] = row < m && p + lane < k ? A[row * k + p + lane] : 0.0f;
        for (int q = warp; q < 32; q += 8)
            b[q][lane] = p + q < k && column < n ? B[(p + q) * n + column] : 0.0f;
        __syncwarp();
        for (int q = 0; q < 32; ++q)
            sum += a[warp][q] * b[q][lane];
        __syncwarp();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
