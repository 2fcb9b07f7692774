// A flat grid numbers its tiles along a Z-order curve: even bits are the column, odd bits the row. Some are outside.
// declared: z_curve

__device__ unsigned even_bits(unsigned i)
{
    i &= 0x55555555;
    i = (i | i >> 1) & 0x33333333;
    i = (i | i >> 2) & 0x0f0f0f0f;
    i = (i | i >> 4) & 0x00ff00ff;
    return (i | i >> 8) & 0xffff;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = even_bits(blockIdx.x >> 1) * 8 + even_bits(threadIdx.x >> 1);
    const int column = even_bits(blockIdx.x) * 8 + even_bits(threadIdx.x);
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
