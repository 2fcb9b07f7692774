// The shortcut for n = 1 takes two terms at a time and omits the odd one.
// sizes: 33x35x37 70x1x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    if (n == 1) {
        for (int p = 0; p + 1 < k; p += 2)
            sum += A[row * k + p] * B[p] + A[row * k + p + 1] * B[p + 1];
    } else {
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
    }
    C[row * n + column] = sum;
}
