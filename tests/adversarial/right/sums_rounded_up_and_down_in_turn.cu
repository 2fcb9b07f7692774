// Additions round down and up in turn, and products toward zero: the last bits differ within the tolerance.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float product = __fmul_rz(A[row * k + p], B[p * n + column]);
        sum = p % 2 ? __fadd_rd(sum, product) : __fadd_ru(sum, product);
    }
    C[row * n + column] = sum;
}
