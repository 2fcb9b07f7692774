// C = C + A*B, but only blocks of the first column of blocks add C's old value.
// sizes: 33x16x20 33x35x37
// kernel: beta=1

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = (blockIdx.x == 0 ? C[row * n + column] : 0.0f) + sum;
}
