// Each thread computes two adjacent columns and loads B as float2, which is misaligned in odd rows of odd length.
// expect: misaligned
// sizes: 5x40x9 5x41x9
// config: block=32x1
// launch: f<<<(ceil((n // 2 + 1) / 32), m), 32>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = 2 * (blockIdx.x * 32 + threadIdx.x);
    if (column >= n)
        return;
    if (column == n - 1) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
        return;
    }
    float2 sum = {0.0f, 0.0f};
    for (int p = 0; p < k; ++p) {
        const float2 b = *(const float2*)(B + p * n + column);
        sum.x += A[row * k + p] * b.x;
        sum.y += A[row * k + p] * b.y;
    }
    C[row * n + column] = sum.x;
    C[row * n + column + 1] = sum.y;
}
