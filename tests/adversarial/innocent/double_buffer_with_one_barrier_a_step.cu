// Two buffers need one barrier per step: a buffer is refilled only after the barrier that follows its use.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[2][T][T], b[2][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    auto load = [&](int s) {
        const int p = s * T;
        a[s % 2][ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[s % 2][ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
    };
    load(0);
    float sum = 0.0f;
    for (int s = 0; s * T < k; ++s) {
        __syncthreads();
        load(s + 1);
        for (int q = 0; q < T; ++q)
            sum += a[s % 2][ty][q] * b[s % 2][q][tx];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
