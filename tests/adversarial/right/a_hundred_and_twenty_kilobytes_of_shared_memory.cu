// A block keeps its columns of B in 120 KB of dynamic shared memory, which exceeds the default limit.
// sizes: 33x35x37 8x33x1000
// config: block=256
// launch: f<<<ceil(n/32), block, 122880>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ float panel[];  // 960 rows of 32 columns
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, column = blockIdx.x * 32 + x;
    for (int step = 0; step < k; step += 960) {
        const int depth = min(960, k - step);
        for (int p = y; p < depth; p += 8)
            panel[p * 32 + x] = column < n ? B[(step + p) * n + column] : 0.0f;
        __syncthreads();
        for (int row = y; column < n && row < m; row += 8) {
            float sum = step ? C[row * n + column] : 0.0f;
            for (int p = 0; p < depth; ++p)
                sum += A[row * k + step + p] * panel[p * 32 + x];
            C[row * n + column] = sum;
        }
        __syncthreads();
    }
}
