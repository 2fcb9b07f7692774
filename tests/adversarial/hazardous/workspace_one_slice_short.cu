// Three slices are stored, but the workspace has room for two: the first kernel writes past its end.
// expect: out-of-bounds-write
// workspace: parts 8 * m * n
// launch: slices<<<(ceil(n/16), ceil(m/16), 3), (16, 16)>>>(A, B, m, n, k, parts)
// launch: add<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(C, m, n, parts)

extern "C" __global__ void slices(const float* A, const float* B, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    parts[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void add(float* C, int m, int n, const float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    if (row < m && column < n)
        C[i] = parts[i] + parts[m * n + i] + parts[2 * m * n + i];
}
