// assert, printf and __trap are in branches that no launch takes, as in most code under development.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    assert(m > 0 && n > 0 && k > 0);
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (isnan(sum)) {
        printf("row %d, column %d: not a number\n", row, column);
        __trap();
    }
    C[row * n + column] = sum;
}
