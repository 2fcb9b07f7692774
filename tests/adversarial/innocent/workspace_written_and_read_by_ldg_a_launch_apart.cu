// One launch transposes B, and the next reads it by __ldg: launches are ordered.
// workspace: turned 4 * k * n
// launch: turn<<<ceil(k * n / 64), 64>>>(B, n, k, turned)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, C, m, n, k, turned)

extern "C" __global__ void turn(const float* B, int n, int k, float* turned)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < k * n)
        turned[i % n * k + i / n] = B[i];
}

extern "C" __global__ void f(const float* A, float* C, int m, int n, int k, const float* turned)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * __ldg(&turned[column * k + p]);
    C[row * n + column] = sum;
}
