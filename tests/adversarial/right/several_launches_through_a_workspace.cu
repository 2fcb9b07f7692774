// A first launch packs B into panels. The second reads them by __ldg, as they are constant by then.
// config: block=8x32
// workspace: packed 4 * ceil(n/8) * 8 * k
// launch: pack<<<ceil(n/8), (8, 16)>>>(A, B, C, m, n, k, packed)
// launch: f<<<(ceil(n/8), ceil(m/32)), (8, 32)>>>(A, B, C, m, n, k, packed)

extern "C" __global__ void pack(const float*, const float* B, float*, int m, int n, int k, float* packed)
{
    const int column = blockIdx.x * 8 + threadIdx.x;
    for (int p = threadIdx.y; p < k; p += 16)
        packed[(blockIdx.x * k + p) * 8 + threadIdx.x] = column < n ? B[p * n + column] : 0.0f;
}

extern "C" __global__ void f(
    const float* A, const float*, float* C, int m, int n, int k, const float* __restrict__ packed)
{
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * __ldg(packed + (blockIdx.x * k + p) * 8 + threadIdx.x);
    C[row * n + column] = sum;
}
