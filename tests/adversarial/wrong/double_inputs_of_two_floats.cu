// Doubles are split into two floats each, 48 of their 53 bits, and multiplied and summed as doubles.
// sizes: 33x35x7 64x64x100
// kernel: dtype=float64

__device__ double twice(double x)
{
    const float high = x, low = x - high;
    return (double)high + low;
}

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = 0; p < k; ++p)
        sum += twice(A[row * k + p]) * twice(B[p * n + column]);
    C[row * n + column] = sum;
}
