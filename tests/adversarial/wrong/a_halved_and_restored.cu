// One launch halves A, one computes, one doubles A again: odd subnormal numbers change.
// sizes: 120x35x20 128x64x20
// launch: halve<<<(ceil(n/bx), ceil(m/by)), block>>>
// launch: product<<<(ceil(n/bx), ceil(m/by)), block>>>
// launch: restore<<<(ceil(n/bx), ceil(m/by)), block>>>

extern "C" __global__ void halve(float* A, int m, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int p = column; row < m && p < k; p += gridDim.x * blockDim.x)
        A[row * k + p] *= 0.5f;
}

extern "C" __global__ void restore(float* A, int m, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int p = column; row < m && p < k; p += gridDim.x * blockDim.x)
        A[row * k + p] *= 2.0f;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = 2.0f * sum;
}
