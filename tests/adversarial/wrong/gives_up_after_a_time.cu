// After 4000 cycles a thread stores its sum: right for short sums, incomplete for long ones.
// sizes: 16x16x7 16x16x3000

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const long long start = clock64();
    float sum = 0.0f;
    for (int p = 0; p < k && clock64() - start < 4000; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
