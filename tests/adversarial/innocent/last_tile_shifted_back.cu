// The last tile of columns is shifted back to fit. Elements that the previous tile stored are computed but not stored.
// sizes: 20x35x37 20x32x16
// grid: ceil(n/16), ceil(m/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, x0 = min((int)blockIdx.x * 16, n - 16), column = x0 + threadIdx.x;
    if (row >= m)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (column >= (int)blockIdx.x * 16)
        C[row * n + column] = sum;
}
