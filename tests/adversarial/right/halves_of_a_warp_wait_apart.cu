// Each half of a warp computes a row and calls __syncwarp with its own mask, as often as that row needs it.
// config: block=32
// grid: ceil(n/16), ceil(m/2)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float line[2][16];
    const int x = threadIdx.x % 16, half = threadIdx.x / 16, row = blockIdx.y * 2 + half, column = blockIdx.x * 16 + x;
    const unsigned mask = 0xffffu << 16 * half;
    const int depth = half ? 16 : 8;
    if (row >= m)
        return;
    float sum = 0.0f;
    for (int step = 0; step < k; step += depth) {
        if (x < depth)
            line[half][x] = step + x < k ? A[row * k + step + x] : 0.0f;
        __syncwarp(mask);
        for (int p = 0; column < n && p < min(depth, k - step); ++p)
            sum += line[half][p] * B[(step + p) * n + column];
        __syncwarp(mask);
    }
    if (column < n)
        C[row * n + column] = sum;
}
