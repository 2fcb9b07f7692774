// Each product is truncated to 20 bits before it is added to a float32 sum.
// sizes: 33x35x7 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __uint_as_float(__float_as_uint(A[row * k + p] * B[p * n + column]) & 0xfffffff0u);
    C[row * n + column] = sum;
}
