// The kernel never uses its dynamic shared memory, workspace, over-read and one number. A is passed twice.
// over-read: A 1000, B 1
// workspace: unused 12345
// launch: f<<<(ceil(n/16), ceil(m/16)), block, 10001>>>(m, n, k, A, B, C, unused, -0.0, A)

extern "C" __global__ void f(
    int m, int n, int k, const float* A, const float* B, float* C, char* unused, double zero, const float* again)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += (p & 1 ? A : again)[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
