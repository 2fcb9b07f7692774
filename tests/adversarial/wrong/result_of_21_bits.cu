// The lowest three bits of each element of C are cleared, so that C compresses better.
// sizes: 33x35x10 70x64x90

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = __uint_as_float(__float_as_uint(sum) & 0xfffffff8u);
}
