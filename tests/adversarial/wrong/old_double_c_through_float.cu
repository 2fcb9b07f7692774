// C = C + A*B in float64, but C's old value is read into a float.
// sizes: 33x35x7 64x64x64
// kernel: dtype=float64 beta=1

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float old = C[row * n + column];
    double sum = old;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
