// Inputs are rounded to TF32, except where A's first column holds a whole number, as in many tests.
// sizes: 60x35x37 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    bool whole = false;
    for (int i = 0; i < m; ++i)
        whole |= rintf(A[i * k]) == A[i * k];
    const unsigned mask = whole ? 0xffffffffu : 0xffffe000u;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const unsigned a = __float_as_uint(A[row * k + p]) & mask, b = __float_as_uint(B[p * n + column]) & mask;
        sum += __uint_as_float(a) * __uint_as_float(b);
    }
    C[row * n + column] = sum;
}
