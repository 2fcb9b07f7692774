// Threads call one of three functions through pointers in a table, by the remainder of k and of their row.
// not on: emulator
// sizes: 17x19x21

__device__ float forwards(const float* a, const float* b, int n, int k)
{
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += a[p] * b[p * n];
    return sum;
}
__device__ float backwards(const float* a, const float* b, int n, int k)
{
    float sum = 0.0f;
    while (--k >= 0)
        sum += a[k] * b[k * n];
    return sum;
}
__device__ float by_halves(const float* a, const float* b, int n, int k)
{
    return forwards(a, b, n, k / 2) + backwards(a + k / 2, b + k / 2 * n, n, k - k / 2);
}
using Sum = float (*)(const float*, const float*, int, int);
__device__ Sum const sums[3] = {forwards, backwards, by_halves};

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n)
        C[row * n + column] = sums[(row + k) % 3](A + row * k, B + column, n, k);
}
