// A block of 33 by 7 threads covers tiles of 20 by 20 with loops that stride over all threads.
// config: block=33x7
// grid: ceil(n/20), ceil(m/20)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[20 * 20], b[20 * 20], c[20 * 20];
    const int t = threadIdx.y * 33 + threadIdx.x, top = blockIdx.y * 20, left = blockIdx.x * 20;
    for (int i = t; i < 400; i += 231)
        c[i] = 0.0f;
    for (int step = 0; step < k; step += 20) {
        for (int i = t; i < 400; i += 231) {
            const int y = i / 20, x = i % 20;
            a[i] = top + y < m && step + x < k ? A[(top + y) * k + step + x] : 0.0f;
            b[i] = step + y < k && left + x < n ? B[(step + y) * n + left + x] : 0.0f;
        }
        __syncthreads();
        for (int i = t; i < 400; i += 231)
            for (int p = 0; p < 20; ++p)
                c[i] += a[i / 20 * 20 + p] * b[p * 20 + i % 20];
        __syncthreads();
    }
    for (int i = t; i < 400; i += 231)
        if (top + i / 20 < m && left + i % 20 < n)
            C[(top + i / 20) * n + left + i % 20] = c[i];
}
