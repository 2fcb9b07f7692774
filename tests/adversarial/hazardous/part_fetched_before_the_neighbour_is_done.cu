// A block adds its part to the previous slice's sum in the workspace, and assumes that blocks run in order.
// expect: global-race
// workspace: parts 12 * m * n
// launch: f<<<(ceil(n/16), ceil(m/16), 3), (16, 16)>>>(A, B, C, m, n, k, parts)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    if (row >= m || column >= n)
        return;
    const int z = blockIdx.z, first = k * z / 3, last = k * (z + 1) / 3;
    float sum = 0.0f;
    for (int p = first; p < last; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (z > 0)
        sum += parts[(z - 1) * m * n + i];
    if (z < 2)
        parts[z * m * n + i] = sum;
    else
        C[i] = sum;
}
