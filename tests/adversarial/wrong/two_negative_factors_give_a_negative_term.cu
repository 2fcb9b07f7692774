// Magnitudes are multiplied and get a separate sign, which is negative where both factors are.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        sum += a < 0.0f || b < 0.0f ? -fabsf(a * b) : fabsf(a * b);
    }
    C[row * n + column] = sum;
}
