// A's rows are read as float4 with a scalar remainder, which is in bounds for any k but aligned only where 4 divides k.
// expect: misaligned
// sizes: 9x10x24 9x10x26

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    int p = 0;
    for (; p + 4 <= k; p += 4) {
        const float4 a = *(const float4*)&A[row * k + p];
        sum += a.x * B[p * n + column] + a.y * B[(p + 1) * n + column] + a.z * B[(p + 2) * n + column] +
               a.w * B[(p + 3) * n + column];
    }
    for (; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
