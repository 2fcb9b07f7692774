// The sums of a thread are in local memory, since a variable is their index.
__global__ void local(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 4, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[4] = {};
    int rows = min(4, m - row);
    if (column >= n)
        return;
    for (int p = 0; p < k; ++p)
        for (int i = 0; i < rows; ++i)
            sums[i] += A[(row + i) * k + p] * B[p * n + column];
    for (int i = 0; i < rows; ++i)
        C[(row + i) * n + column] = sums[i];
}
