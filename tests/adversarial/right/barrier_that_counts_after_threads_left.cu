// After some threads have returned, __syncthreads_count(1) counts the remaining threads, which share the loads.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile[16][17];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    if (row >= m || column >= n)
        return;
    const int live = __syncthreads_count(1), width = min(16, n - (int)blockIdx.x * 16);
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        for (int i = y * width + x; i < 16 * width; i += live) {
            const int p = i / width, c = i % width;
            tile[p][c] = step + p < k ? B[(step + p) * n + blockIdx.x * 16 + c] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < min(16, k - step); ++p)
            sum += A[row * k + step + p] * tile[p][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
