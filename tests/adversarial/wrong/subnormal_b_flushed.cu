// Subnormal elements of B count as 0 although nothing declares it. A's are kept.
// sizes: 33x35x37 64x130x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float b = B[p * n + column];
        sum += A[row * k + p] * (fabsf(b) < 1.17549435e-38f ? 0.0f : b);
    }
    C[row * n + column] = sum;
}
