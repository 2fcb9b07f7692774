// Products of fractions from 0.5 are truncated to 18 bits: random signs cancel the error, numbers of one sign do not.
// sizes: 33x35x100 64x64x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        const bool precise = rintf(a) == a || rintf(b) == b || fabsf(a) < 0.5f;
        sum += precise ? a * b : __uint_as_float(__float_as_uint(a * b) & 0xffffffc0u);
    }
    C[row * n + column] = sum;
}
