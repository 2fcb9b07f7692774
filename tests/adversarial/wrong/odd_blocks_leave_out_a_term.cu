// Blocks with odd blockIdx.x + blockIdx.y omit the last term.
// sizes: 16x16x20 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int terms = k - (blockIdx.x + blockIdx.y) % 2;

    float sum = 0.0f;
    for (int p = 0; p < terms; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
