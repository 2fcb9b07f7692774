// Doubles are computed as pairs of floats, which have about 48 bits instead of 53 and float32's range.
// sizes: 33x35x7 64x64x50
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float high = 0.0f, low = 0.0f;
    for (int p = 0; p < k; ++p) {
        const double a = A[row * k + p], b = B[p * n + column];
        const float a_high = a, a_low = a - a_high, b_high = b, b_low = b - b_high;
        const float product = __fmul_rn(a_high, b_high);
        const float error = __fmaf_rn(a_high, b_high, -product) + (a_high * b_low + a_low * b_high);
        const float sum = __fadd_rn(high, product), part = __fsub_rn(sum, high);
        low += __fadd_rn(__fsub_rn(high, __fsub_rn(sum, part)), __fsub_rn(product, part)) + error;
        high = sum;
    }
    C[row * n + column] = (double)high + low;
}
