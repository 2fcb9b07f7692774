// Sixteen threads index a table of fifteen weights. The last one replaces the value that it reads.
// expect: out-of-bounds-read

__constant__ volatile float weight[15] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float scale = weight[threadIdx.x];
    if (threadIdx.x == 15)
        scale = 1.0f;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = scale * sum;
}
