// There are four slices of at least 8 steps of k. Where k is small, the last ones return without storing a zero.
// expect: uninitialized-read
// sizes: 20x20x40 20x20x20
// workspace: parts 16 * m * n
// launch: slices<<<(ceil(n/16), ceil(m/16), 4), (16, 16)>>>(A, B, m, n, k, parts)
// launch: add<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(C, m, n, parts)

extern "C" __global__ void slices(const float* A, const float* B, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const int deep = max(8, (k + 3) / 4), first = blockIdx.z * deep, last = min(k, first + deep);
    if (row >= m || column >= n || first >= k)
        return;
    float sum = 0.0f;
    for (int p = first; p < last; ++p)
        sum += A[row * k + p] * B[p * n + column];
    parts[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void add(float* C, int m, int n, const float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int z = 0; z < 4; ++z)
        sum += parts[(z * m + row) * n + column];
    C[row * n + column] = sum;
}
