// A partial sum and its flag share one volatile 64-bit word, so that no fence is needed between the two.
// workspace: words 8 * m * n
// launch: clear<<<(ceil(n/16), ceil(m/16)), block>>>(A, B, C, m, n, k, words)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), block>>>(A, B, C, m, n, k, words)

extern "C" __global__ void clear(
    const float*, const float*, float*, int m, int n, int k, volatile unsigned long long* words)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        words[row * n + column] = 0;
}

extern "C" __global__ void f(
    const float* A, const float* B, float* C, int m, int n, int k, volatile unsigned long long* words)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = (k + 1) / 2;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z * half; p < min(k, (int)(blockIdx.z + 1) * half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        words[row * n + column] = 1ull << 32 | __float_as_uint(sum);
        return;
    }
    unsigned long long word;
    do
        word = words[row * n + column];
    while (word >> 32 == 0);
    C[row * n + column] = __uint_as_float((unsigned)word) + sum;
}
