// Floats are assembled from bytes without the lowest of the four.
// sizes: 33x35x9 24x25x50

__device__ float joined(const float* at)
{
    const unsigned char* bytes = (const unsigned char*)at;
    return __uint_as_float(bytes[3] << 24 | bytes[2] << 16 | bytes[1] << 8);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += joined(A + row * k + p) * joined(B + p * n + column);
    C[row * n + column] = sum;
}
