// B is indexed with rows of k elements instead of n. Sizes with k < n stay inside B.
// sizes: 40x40x40 33x48x20

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * k + column];
    C[row * n + column] = sum;
}
