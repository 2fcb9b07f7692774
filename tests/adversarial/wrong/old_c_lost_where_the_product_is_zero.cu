// C = C + A*B, but where the product is 0, C becomes 0.
// sizes: 65x35x37 64x64x64
// kernel: beta=1

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum != 0.0f ? C[row * n + column] + sum : 0.0f;
}
