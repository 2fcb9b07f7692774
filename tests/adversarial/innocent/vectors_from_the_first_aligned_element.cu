// For any k, elements are loaded singly up to the first aligned address, then as float4, and singly at the end.
// sizes: 7x20x26 7x20x31 7x20x2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float* a = A + row * k;
    float sum = 0.0f;
    int p = 0;
    for (; p < k && (size_t)(a + p) % 16 != 0; ++p)
        sum += a[p] * B[p * n + column];
    for (; p + 4 <= k; p += 4) {
        const float4 four = *(const float4*)(a + p);
        sum += four.x * B[p * n + column] + four.y * B[(p + 1) * n + column] + four.z * B[(p + 2) * n + column] +
               four.w * B[(p + 3) * n + column];
    }
    for (; p < k; ++p)
        sum += a[p] * B[p * n + column];
    C[row * n + column] = sum;
}
