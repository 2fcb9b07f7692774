// Each float is split into two bfloat16 parts, which hold 16 of its 24 bits.
// sizes: 33x35x37 20x21x64

__device__ float upper(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        const float a_high = upper(a), a_low = upper(a - a_high), b_high = upper(b), b_low = upper(b - b_high);
        sum += a_high * b_high + (a_high * b_low + a_low * b_high);
    }
    C[row * n + column] = sum;
}
