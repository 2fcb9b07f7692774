// Subnormal elements of B are set to 0 in B itself before it is used.
// sizes: 33x35x37 64x64x20
// launch: flush<<<(ceil(n/bx), ceil(m/by)), block>>>
// launch: product<<<(ceil(n/bx), ceil(m/by)), block>>>

extern "C" __global__ void flush(float* B, int n, int k)
{
    const int p = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int q = p; q < k && column < n; q += gridDim.y * blockDim.y)
        if (fabsf(B[q * n + column]) < 1.17549435e-38f)
            B[q * n + column] = 0.0f;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
