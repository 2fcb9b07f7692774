// Five accumulators by p % 5 are in a local array with a dynamic index, and are added from the last to the first.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sums[5] = {};
    #pragma unroll 1
    for (int p = 0; p < k; ++p)
        sums[(p * 2 + column) % 5] += A[row * k + p] * B[p * n + column];
    float sum = 0.0f;
    for (int i = 4; i >= 0; --i)
        sum += sums[i];
    C[row * n + column] = sum;
}
