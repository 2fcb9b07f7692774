// Number and count of a named barrier are in registers: four groups of two warps have one barrier each.
// sizes: 33x70x37
// config: block=64x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float line[4][64];
    const int x = threadIdx.x, group = threadIdx.y, row = blockIdx.y * 4 + group, column = blockIdx.x * 64 + x;
    const int barrier = 15 - group, threads = blockDim.x;
    if (row >= m)
        return;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 64) {
        line[group][x] = step + x < k ? A[row * k + step + x] : 0.0f;
        asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
        for (int p = 0; column < n && p < min(64, k - step); ++p)
            sum += line[group][p] * B[(step + p) * n + column];
        asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
    }
    if (column < n)
        C[row * n + column] = sum;
}
