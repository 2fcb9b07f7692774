// Floats are multiplied and added as doubles, which exceeds the declared accumulator. C is rounded once.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0;
    for (int p = 0; p < k; ++p)
        sum = __fma_rn((double)A[row * k + p], (double)B[p * n + column], sum);
    C[row * n + column] = __double2float_rn(sum);
}
