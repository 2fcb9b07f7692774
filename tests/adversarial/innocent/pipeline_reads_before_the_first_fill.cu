// A pipeline multiplies the previous step's tile. That tile is unset in the first step, whose product is dropped.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[2][T][T], b[2][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const int steps = (k + T - 1) / T;
    float sum = 0.0f;
    for (int s = 0; s <= steps; ++s) {
        const int p = s * T, now = s & 1;
        a[now][ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[now][ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        float part = 0.0f;
        for (int q = 0; q < T; ++q)
            part += a[now ^ 1][ty][q] * b[now ^ 1][q][tx];
        sum = s > 0 ? sum + part : 0.0f;
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
