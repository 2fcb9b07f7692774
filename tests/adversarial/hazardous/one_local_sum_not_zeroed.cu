// A local array has five partial sums, but only four of them are set to zero.
// expect: uninitialized-read

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float part[5];
    for (int i = 0; i < 4; ++i)
        part[i] = 0.0f;
    for (int p = 0; p < k; ++p)
        part[p % 5] += A[row * k + p] * B[p * n + column];
    C[row * n + column] = part[0] + part[1] + part[2] + part[3] + part[4];
}
