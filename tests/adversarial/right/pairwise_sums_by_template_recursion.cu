// A recursive template adds 32 products pairwise. A loop adds the remaining products.

template <int count>
__device__ __forceinline__ float pairwise(const float* a, const float* b, int n)
{
    if constexpr (count == 1)
        return *a * *b;
    else
        return pairwise<count / 2>(a, b, n) + pairwise<count - count / 2>(a + count / 2, b + count / 2 * n, n);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float *a = A + row * k, *b = B + column;
    float sum = 0.0f;
    int p = 0;
    for (; p + 32 <= k; p += 32)
        sum += pairwise<32>(a + p, b + p * n, n);
    for (; p < k; ++p)
        sum += pairwise<1>(a + p, b + p * n, n);
    C[row * n + column] = sum;
}
