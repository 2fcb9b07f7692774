// Only every third block has a tile. The others end at once, and so do whole planes of the grid.
// grid: 3 * (ceil(n/16) + 2), ceil(m/16) + 1, 3

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    if (blockIdx.x % 3 != 1 || blockIdx.z != 2)
        return;
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x / 3 * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
