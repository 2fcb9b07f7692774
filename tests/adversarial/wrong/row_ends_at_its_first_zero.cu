// A row of A ends at its first zero, like a zero-padded list.
// sizes: 65x35x37 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k && A[row * k + p] != 0.0f; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
