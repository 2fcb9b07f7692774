// Each block has its own area of one workspace, ordered by the block's barriers.
// workspace: scratch 1024 * ceil(n/16) * ceil(m/16)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, B, C, m, n, k, scratch)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* scratch)
{
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float* tile = scratch + (blockIdx.y * gridDim.x + blockIdx.x) * 256;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        tile[ty * 16 + tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 16 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * tile[q * 16 + tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
