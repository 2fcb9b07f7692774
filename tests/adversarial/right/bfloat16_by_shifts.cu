// bfloat16 is read as 16-bit integers and shifted into floats. C is rounded to nearest even by integer arithmetic.
// kernel: dtype=bfloat16 output=bfloat16

extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, unsigned short* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += __uint_as_float((unsigned)A[row * k + p] << 16) * __uint_as_float((unsigned)B[p * n + column] << 16);
    const unsigned bits = __float_as_uint(sum);
    C[row * n + column] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
