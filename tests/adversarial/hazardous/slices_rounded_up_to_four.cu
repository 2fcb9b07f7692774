// The workspace has three slices, which are read four at a time: the fourth is past the end and is not added.
// expect: out-of-bounds-read
// workspace: parts 12 * m * n
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

extern "C" __global__ void add(float* C, int m, int n, const volatile float* parts)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float part[4];
    for (int z = 0; z < 4; ++z)
        part[z] = parts[(z * m + row) * n + column];
    C[row * n + column] = part[0] + part[1] + part[2];
}
