// Atomics add to C's old value. -ftz=true is set, since float32 atomics flush subnormal numbers.
// kernel: beta=1 options=-ftz=true
// grid: ceil(n/16), ceil(m/16), 3

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
