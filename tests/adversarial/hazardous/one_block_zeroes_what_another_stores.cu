// One layer of blocks sets C to zero and another stores the product in the same launch, in undefined order.
// expect: global-race
// grid: ceil(n/16), ceil(m/16), 2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    if (blockIdx.z == 1)
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
