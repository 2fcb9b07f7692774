// Two buffers need a barrier in each step, but there is one in every other step only.
// expect: shared-race

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[2][T][T], b[2][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const int steps = (k + T - 1) / T;
    float sum = 0.0f;
    for (int s = -1; s < steps; ++s) {
        const int p = (s + 1) * T, next = (s + 1) & 1;
        if (s >= 0 && s % 2 == 0)
            __syncthreads();
        if (p < k) {
            a[next][ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
            b[next][ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        }
        for (int q = 0; q < T && s >= 0; ++q)
            sum += a[s & 1][ty][q] * b[s & 1][q][tx];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
