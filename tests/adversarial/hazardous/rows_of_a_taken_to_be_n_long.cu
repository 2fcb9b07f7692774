// A's leading dimension is assumed to be n, which exceeds A's end where n is above k.
// expect: out-of-bounds-read
// sizes: 32x32x32 40x50x20

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * n + p] * B[p * n + column];
    C[row * n + column] = sum;
}
