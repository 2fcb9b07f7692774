// Positive and negative products are summed separately, and terms of magnitude below 1 separately from the others.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sums[4] = {};
    for (int p = 0; p < k; ++p) {
        const float product = A[row * k + p] * B[p * n + column];
        sums[(product < 0.0f) + 2 * (fabsf(product) < 1.0f)] += product;
    }
    C[row * n + column] = (sums[2] + sums[3]) + (sums[0] + sums[1]);
}
