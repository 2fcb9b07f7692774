// A is copied as float4. Their number is rounded up, so that the last one exceeds A's end.
// expect: out-of-bounds-read
// sizes: 5x6x7
// workspace: copy 16 * ceil(m * k / 4)
// launch: fetch<<<ceil(ceil(m * k / 4) / 64), 64>>>(A, m, k, copy)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(copy, B, C, m, n, k)

extern "C" __global__ void fetch(const float4* A, int m, int k, float4* copy)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < (m * k + 3) / 4)
        copy[i] = A[i];
}

extern "C" __global__ void f(const float* copy, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += copy[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
