// B is packed in panels of four rows. The rows that the last panel lacks remain unset, and are multiplied by 0.
// expect: uninitialized-read
// sizes: 20x20x24 20x20x23
// workspace: packed 16 * ceil(k/4) * n
// launch: pack<<<(ceil(n/32), k), 32>>>(B, n, packed)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, C, m, n, k, packed)

extern "C" __global__ void pack(const float* B, int n, float* packed)
{
    const int p = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        packed[(p / 4 * n + column) * 4 + p % 4] = B[p * n + column];
}

extern "C" __global__ void f(const float* A, float* C, int m, int n, int k, const float4* packed)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    auto a = [&](int p) { return p < k ? A[row * k + p] : 0.0f; };
    float sum = 0.0f;
    for (int p = 0; p < k; p += 4) {
        const float4 b = packed[p / 4 * n + column];
        sum += a(p) * b.x + a(p + 1) * b.y + a(p + 2) * b.z + a(p + 3) * b.w;
    }
    C[row * n + column] = sum;
}
