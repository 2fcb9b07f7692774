// A first launch sets C to zero. Blocks of eight slices of k add to it by atomicAdd in any order. -ftz=true is set, as
// atomicAdd flushes subnormal floats in global memory.
// kernel: options=-ftz=true
// launch: zero<<<(ceil(n/16), ceil(m/16)), block>>>
// launch: add<<<(ceil(n/16), ceil(m/16), 8), block>>>

extern "C" __global__ void zero(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        C[row * n + column] = 0.0f;
}

extern "C" __global__ void add(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 8)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
