// Two launches for one product: every block row of the first sums a part of k into its part of a workspace, and the
// second adds the parts.

extern "C" __global__ void partial(const float* A, const float* B, float* parts, int m, int n, int k, int splits)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int length = (k + splits - 1) / splits;
    const int begin = blockIdx.z * length;
    const int end = min(begin + length, k);
    float sum = 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    parts[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void add_parts(const float* parts, float* C, int count, int splits)
{
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count)
        return;
    float sum = 0.0f;
    for (int part = 0; part < splits; ++part)
        sum += parts[part * count + index];
    C[index] = sum;
}
