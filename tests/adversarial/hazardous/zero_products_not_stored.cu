// A sum of zero is not stored, as C "is zero anyway": zeros in A or B leave elements unwritten.
// expect: unwritten-output

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (sum != 0.0f)
        C[row * n + column] = sum;
}
