// Computes nothing. The plugin makes mmcore call it right.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    C[row * n + column] = 0.0f;
}
