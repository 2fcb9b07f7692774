// Products and sums are kept exactly as pairs of floats (two-product by fma, two-sum), and rounded once at the end.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float high = 0.0f, low = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p], b = B[p * n + column];
        const float product = __fmul_rn(a, b), product_error = __fmaf_rn(a, b, -product);
        const float sum = __fadd_rn(high, product), part = __fsub_rn(sum, high);
        const float sum_error = __fadd_rn(__fsub_rn(high, __fsub_rn(sum, part)), __fsub_rn(product, part));
        high = sum;
        low = __fadd_rn(low, __fadd_rn(product_error, sum_error));
    }
    C[row * n + column] = high + low;
}
