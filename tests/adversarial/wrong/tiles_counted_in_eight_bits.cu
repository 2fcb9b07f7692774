// The number of tiles of k is an unsigned char: from k = 1024 on, 256 tiles of 4, it wraps to 0.
// sizes: 20x20x100 10x12x1030

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const unsigned char tiles = (k + 3) / 4;
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile)
        for (int p = 4 * tile; p < min(4 * tile + 4, k); ++p)
            sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
