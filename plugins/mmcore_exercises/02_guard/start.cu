// C = A·B for any m, n and k. The grid is rounded up, so that the last blocks reach past the end of C.

__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    // your code: threads outside C have nothing to do
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum += A[row * k + i] * B[i * n + column];
    C[row * n + column] = sum;
}
