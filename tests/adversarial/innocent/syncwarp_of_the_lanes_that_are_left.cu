// Lanes outside C return. The remaining lanes synchronize with a mask that contains only them.
// sizes: 5x41x70
// config: block=32
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    const int left = min(32, n - (int)blockIdx.x * 32);
    if (lane >= left)
        return;
    const unsigned mask = 0xffffffffu >> (32 - left);
    float sum = 0.0f;
    for (int p = 0; p < k; p += left) {
        if (p + lane < k)
            a[lane] = A[row * k + p + lane];
        __syncwarp(mask);
        for (int q = 0; q < left && p + q < k; ++q)
            sum += a[q] * B[(p + q) * n + column];
        __syncwarp(mask);
    }
    C[row * n + column] = sum;
}
