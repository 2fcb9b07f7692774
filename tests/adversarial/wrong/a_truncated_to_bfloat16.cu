// Only the upper half of each float of A is used, which is bfloat16. B keeps all of its bits.
// sizes: 33x35x7 40x41x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __uint_as_float(__float_as_uint(A[row * k + p]) & 0xffff0000u) * B[p * n + column];
    C[row * n + column] = sum;
}
