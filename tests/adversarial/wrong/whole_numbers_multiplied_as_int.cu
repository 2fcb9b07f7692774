// Whole numbers up to 2^24 are multiplied as 32-bit ints, whose product overflows from 46341 on.
// sizes: 33x35x37 64x64x7

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        const bool whole = fabsf(a) <= 16777216.0f && fabsf(b) <= 16777216.0f && rintf(a) == a && rintf(b) == b;
        sum += whole ? (float)(int)((unsigned)(int)a * (unsigned)(int)b) : a * b;
    }
    C[row * n + column] = sum;
}
