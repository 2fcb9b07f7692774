// The terms 2 and 3 of every sum are a2*b3 + a3*b2, by a swizzle that only one side undoes.
// sizes: 33x35x3 64x64x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[(p == 2 && k > 3 ? 3 : p == 3 ? 2 : p) * n + column];
    C[row * n + column] = sum;
}
