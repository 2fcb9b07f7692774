// The memory past C's end serves as scratch space, because "allocations are rounded up anyway".
// expect: out-of-bounds-write
// sizes: 5x40x30
// config: block=64
// grid: m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    float* scratch = C + m * n + blockIdx.x * 64;
    const int row = blockIdx.x, column = threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 64) {
        scratch[threadIdx.x] = p + threadIdx.x < k ? A[row * k + p + threadIdx.x] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 64 && p + q < k && column < n; ++q)
            sum += scratch[q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (column < n)
        C[row * n + column] = sum;
}
