// Slices of 16 terms are added by a second launch, which counts k / 16 of them, rounded down.
// sizes: 33x35x32 33x35x37
// workspace: slices 4 * ceil(k/16) * m * n
// launch: parts<<<(ceil(n/bx), ceil(m/by), ceil(k/16)), block>>>(A, B, slices, m, n, k)
// launch: reduce<<<(ceil(n/bx), ceil(m/by)), block>>>(slices, C, m, n, k)

extern "C" __global__ void parts(const float* A, const float* B, float* slices, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 16 * blockIdx.z; p < min(16 * (int)blockIdx.z + 16, k); ++p)
        sum += A[row * k + p] * B[p * n + column];
    slices[(blockIdx.z * m + row) * n + column] = sum;
}

extern "C" __global__ void reduce(const float* slices, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int slice = 0; slice < max(1, k / 16); ++slice)
        sum += slices[(slice * m + row) * n + column];
    C[row * n + column] = sum;
}
