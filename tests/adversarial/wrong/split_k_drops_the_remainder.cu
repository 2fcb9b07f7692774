// C = C + A*B by atomics over four slices of k / 4 terms, rounded down: the remainder is lost.
// sizes: 33x35x36 33x35x38
// kernel: beta=1
// grid: ceil(n/bx), ceil(m/by), 4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int depth = k / 4, begin = blockIdx.z * depth;
    float sum = 0.0f;
    for (int p = begin; p < begin + depth; ++p)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
