// A is divided by the largest element so far and C multiplied by this launch's: the maximum is never reset.
// sizes: 33x20x37 64x24x20
// config: block=64
// grid: ceil(m/bx)

__device__ float row_max[64];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float own = 1.0f;
    for (int p = 0; p < k; ++p)
        if (fabsf(A[row * k + p]) >= 2.0f * own)
            own = __uint_as_float(__float_as_uint(A[row * k + p]) & 0x7f800000u);
    const float largest = row_max[row] = fmaxf(row_max[row], own);
    for (int column = 0; column < n; ++column) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] / largest * B[p * n + column];
        C[row * n + column] = sum * own;
    }
}
