// Barriers are in a branch and in loops whose length depends on the block: all threads of a block take the same path.
// sizes: 5x40x37
// config: block=32x2
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16], part[32];
    const int row = blockIdx.y, lane = threadIdx.x, column = blockIdx.x * 32 + lane, half = threadIdx.y;
    const int deep = row % 2 == 0 ? 16 : 8;
    float sum = 0.0f;
    for (int p = 0; p < k; p += deep) {
        if (half == 0 && lane < deep)
            a[lane] = p + lane < k ? A[row * k + p + lane] : 0.0f;
        __syncthreads();
        for (int q = half; q < deep && p + q < k && column < n; q += 2)
            sum += a[q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row % 2 == 0) {
        if (half == 1)
            part[lane] = sum;
        __syncthreads();
        sum += part[lane];
    } else {
        if (half == 0)
            part[lane] = sum;
        __syncthreads();
        sum += part[lane];
    }
    if (half == row % 2 && column < n)
        C[row * n + column] = sum;
}
