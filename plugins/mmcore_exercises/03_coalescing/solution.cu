// C = A·B for any m, n and k. It is right, and slow: the threads of a warp read elements that are far from each other.

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum += A[row * k + i] * B[i * n + column];
    C[row * n + column] = sum;
}
