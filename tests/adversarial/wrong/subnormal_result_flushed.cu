// Subnormal elements of C are stored as 0 although nothing declares it.
// sizes: 120x35x9 128x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = fabsf(sum) < 1.17549435e-38f ? 0.0f : sum;
}
