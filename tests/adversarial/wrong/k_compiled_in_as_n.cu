// k is a macro for unrolling the loop, but the declaration sets it to n.
// sizes: 33x20x20 33x20x37
// kernel: defines=K={n}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
#pragma unroll 4
    for (int p = 0; p < K; ++p)
        sum += A[row * K + p] * B[p * n + column];
    C[row * n + column] = sum;
}
