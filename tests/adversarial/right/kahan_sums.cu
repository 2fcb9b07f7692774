// Kahan's compensated sum adds the error of each addition to the next term.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f, lost = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float term = __fmul_rn(A[row * k + p], B[p * n + column]) - lost;
        const float next = __fadd_rn(sum, term);
        lost = __fsub_rn(__fsub_rn(next, sum), term);
        sum = next;
    }
    C[row * n + column] = sum;
}
