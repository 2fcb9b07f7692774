// The registers for the next step are filled only where k is above 1, but used in every thread inside C.
// expect: uninitialized-read
// sizes: 20x20x1 20x20x9

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float a[2], b[2], sum = 0.0f;
    for (int p = 0; p < (k > 1 ? 2 : 0); ++p) {
        a[p] = A[row * k + p];
        b[p] = B[p * n + column];
    }
    for (int p = 0; p < k; ++p) {
        sum += a[p & 1] * b[p & 1];
        if (p + 2 < k) {
            a[p & 1] = A[row * k + p + 2];
            b[p & 1] = B[(p + 2) * n + column];
        }
    }
    C[row * n + column] = sum;
}
