// An unsigned index counts down and wraps below zero. The loop ends before it is used.

extern "C" __global__ void f(const float* A, const float* B, float* C, unsigned m, unsigned n, unsigned k)
{
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (unsigned p = k - 1; p < k; --p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
