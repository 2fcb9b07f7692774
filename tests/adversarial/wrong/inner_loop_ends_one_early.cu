// In the last tile of k the inner loop ends one term early.
// sizes: 33x35x16 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = start + ty < k && column < n ? B[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int p = 0; p < min(16, k - start - (start > 0 && k - start <= 16)); ++p)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
