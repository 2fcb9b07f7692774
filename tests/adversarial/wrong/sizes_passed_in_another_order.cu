// The function takes m, k, n, but the declared order is m, n, k. One row with n < k stays inside the matrices.
// sizes: 33x20x20 1x16x32
// arguments: A, B, C, m, n, k

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int k, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
