// A workspace is filled with NaN. The block of k's second half polls each sum of the first half until it is not NaN.
// workspace: halves 4 * m * n
// launch: fill<<<(ceil(n/16), ceil(m/16)), block>>>(A, B, C, m, n, k, halves)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), block>>>(A, B, C, m, n, k, halves)

extern "C" __global__ void fill(const float*, const float*, float*, int m, int n, int k, float* halves)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        halves[row * n + column] = __int_as_float(-1);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* halves)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = k / 2;
    if (row >= m || column >= n)
        return;
    volatile float* const handed = &halves[row * n + column];
    float sum = 0.0f;
    for (int p = blockIdx.z ? half : 0; p < (blockIdx.z ? k : half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        *handed = sum;
        return;
    }
    float other = *handed;
    for (int tries = 0; isnan(other); other = *handed)
        if (++tries == 1 << 20)
            return;
    C[row * n + column] = other + sum;
}
