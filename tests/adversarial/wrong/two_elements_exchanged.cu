// Two elements of C, in the fourth and fifth row, are exchanged. All the others are right.
// sizes: 33x35x37 64x64x20

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const bool first = row == 3 && column == 2, second = row == 4 && column == 1;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[first ? 4 * n + 1 : second ? 3 * n + 2 : row * n + column] = sum;
}
