// Single threads of each warp return before the barriers: since Volta a barrier waits for the remaining threads.
// sizes: 8x41x21
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[4][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 4) {
        b[warp][lane] = p + warp < k ? B[(p + warp) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 4 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * b[q][lane];
        __syncthreads();
    }
    if (row < m)
        C[row * n + column] = sum;
}
