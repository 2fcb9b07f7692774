// A row of A is staged in a local array in bit-reversed order, which a dynamic index reads back.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float chunk[16];
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        const int depth = min(16, k - step);
        for (int p = 0; p < depth; ++p)
            chunk[__brev(p) >> 28] = A[row * k + step + p];
        for (int p = depth - 1; p >= 0; --p)
            sum += chunk[__brev(p) >> 28] * B[(step + p) * n + column];
    }
    C[row * n + column] = sum;
}
