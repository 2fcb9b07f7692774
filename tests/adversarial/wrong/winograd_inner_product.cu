// Winograd's inner product of 1968 needs half the products, and loses all bits where A and B differ in magnitude.
// sizes: 65x35x7 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f, of_row = 0.0f, of_column = 0.0f;
    int p = 0;
    for (; p + 1 < k; p += 2) {
        const float a0 = A[row * k + p], a1 = A[row * k + p + 1], b0 = B[p * n + column], b1 = B[(p + 1) * n + column];
        sum += (a0 + b1) * (a1 + b0);
        of_row += a0 * a1;
        of_column += b0 * b1;
    }
    sum -= of_row + of_column;
    if (p < k)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
