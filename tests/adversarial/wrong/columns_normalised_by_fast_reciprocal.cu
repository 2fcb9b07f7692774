// B's columns are divided by their largest element with a reciprocal from a magic number and two Newton steps.
// sizes: 33x35x11 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float largest = 0.0f, sum = 0.0f;
    for (int p = 0; p < k; ++p)
        largest = fmaxf(largest, fabsf(B[p * n + column]));
    if (largest > 0.0f) {
        float reciprocal = __uint_as_float(0x7ef311c7u - __float_as_uint(largest));
        reciprocal *= 2.0f - largest * reciprocal;
        reciprocal *= 2.0f - largest * reciprocal;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * (B[p * n + column] * reciprocal);
    }
    C[row * n + column] = sum * largest;
}
