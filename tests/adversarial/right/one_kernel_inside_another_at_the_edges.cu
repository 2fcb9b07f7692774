// One launch computes whole tiles without bounds checks. Two more, of other shapes, compute the right and lower edges.
// sizes: 33x35x37 64x64x64 32x9x20 5x6x7
// declared: inside_and_edges

extern "C" __global__ void inside(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}

extern "C" __global__ void edge(
    const float* A, const float* B, float* C, int n, int k, int top, int left, int columns)
{
    const int row = top + blockIdx.y, column = left + blockIdx.x * 64 + threadIdx.x;
    if (column >= left + columns)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
