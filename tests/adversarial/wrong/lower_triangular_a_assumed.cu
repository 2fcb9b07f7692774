// A is assumed to be lower triangular: terms with p > row are omitted.
// sizes: 33x20x1 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < min(k, row + 1); ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
