// A local array has four partial sums, and the kernel uses a fifth past its end.
// expect: out-of-bounds-write

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    volatile float part[4];
    for (int i = 0; i < 4; ++i)
        part[i] = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float product = A[row * k + p] * B[p * n + column];
        part[p % 5] = part[p % 5] + product;
    }
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i)
        sum += part[i];
    C[row * n + column] = sum;
}
