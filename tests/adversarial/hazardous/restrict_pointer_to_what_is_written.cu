// A workspace is passed twice: the kernel writes by one pointer and reads by a const __restrict__ one.
// expect: global-race
// workspace: parts 4 * m * n
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, B, C, m, n, k, parts, parts)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* to,
                             const float* __restrict__ from)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = 0; p < k / 2 && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (inside)
        to[i] = sum;
    sum = 0.0f;
    for (int p = k / 2; p < k && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    __syncthreads();
    if (inside)
        C[i] = from[i] + sum;
}
