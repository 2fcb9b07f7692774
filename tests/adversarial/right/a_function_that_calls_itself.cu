// A recursive device function adds the products pairwise. Its stack grows with the logarithm of k.
// not on: emulator
// sizes: 17x19x21

__device__ __noinline__ float pairwise(const float* a, const float* b, int n, int count)
{
    if (count == 1)
        return *a * *b;
    const int half = count / 2;
    return pairwise(a, b, n, half) + pairwise(a + half, b + half * n, n, count - half);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n)
        C[row * n + column] = pairwise(A + row * k, B + column, n, k);
}
