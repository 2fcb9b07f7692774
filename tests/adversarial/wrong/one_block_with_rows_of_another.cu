// Block (1, 2) uses the rows of A of the first block. All the others are right.
// sizes: 32x64x20 64x64x20

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int from = blockIdx.x == 1 && blockIdx.y == 2 ? threadIdx.y : row;

    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[from * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
