// A scratch area for one block is used by all blocks at once, whose barriers do not synchronize them.
// expect: global-race
// workspace: scratch 1024
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, B, C, m, n, k, scratch)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* scratch)
{
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        scratch[ty * 16 + tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 16 && p + q < k && column < n; ++q)
            sum += scratch[ty * 16 + q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
