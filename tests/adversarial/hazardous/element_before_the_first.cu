// A running difference reads the element to the left in A's first column too, and discards it afterwards.
// expect: out-of-bounds-read

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p <= k; ++p) {
        const float left = ((const volatile float*)A)[row * k + p - 1];
        sum += p > 0 ? left * B[(p - 1) * n + column] : 0.0f;
    }
    C[row * n + column] = sum;
}
