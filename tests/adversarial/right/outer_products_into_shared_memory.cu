// C's tile is in shared memory. Threads add an outer product to it for every term of k, each to its own part.
// config: block=64
// grid: ceil(n/24), ceil(m/24)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float c[24][24], a[24], b[24];
    const int t = threadIdx.x, top = blockIdx.y * 24, left = blockIdx.x * 24;
    for (int i = t; i < 576; i += 64)
        c[i / 24][i % 24] = 0.0f;
    for (int p = 0; p < k; ++p) {
        if (t < 24)
            a[t] = top + t < m ? A[(top + t) * k + p] : 0.0f;
        else if (t < 48)
            b[t - 24] = left + t - 24 < n ? B[p * n + left + t - 24] : 0.0f;
        __syncthreads();
        for (int i = t; i < 576; i += 64)
            c[i / 24][i % 24] += a[i / 24] * b[i % 24];
        __syncthreads();
    }
    for (int i = t; i < 576; i += 64)
        if (top + i / 24 < m && left + i % 24 < n)
            C[(top + i / 24) * n + left + i % 24] = c[i / 24][i % 24];
}
