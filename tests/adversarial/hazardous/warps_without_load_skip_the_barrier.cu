// Four of eight warps load the tile and wait at the barrier. The others skip it and wait at the next one.
// expect: shared-race
// not on: GPU
// sizes: 9x40x20
// config: block=32x8

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[4][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 8 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 4) {
        if (warp < 4) {
            b[warp][lane] = p + warp < k && column < n ? B[(p + warp) * n + column] : 0.0f;
            __syncthreads();
        }
        for (int q = 0; q < 4 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * b[q][lane];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
