// Every float is split into its first 12 bits and the rest, and four products are summed, small ones first.

__device__ float first_bits(float x) { return __uint_as_float(__float_as_uint(x) & 0xfffff000u); }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        const float a1 = first_bits(a), a2 = a - a1, b1 = first_bits(b), b2 = b - b1;
        sum += fmaf(a1, b1, fmaf(a1, b2, fmaf(a2, b1, a2 * b2)));
    }
    C[row * n + column] = sum;
}
