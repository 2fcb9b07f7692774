// The tile after the next is loaded into the third buffer, whose last use precedes this step's only barrier.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[3][T][T], b[3][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    auto load = [&](int s) {
        const int p = s * T;
        a[s % 3][ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[s % 3][ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
    };
    load(0);
    load(1);
    float sum = 0.0f;
    for (int s = 0; s * T < k; ++s) {
        __syncthreads();
        load(s + 2);
        for (int q = 0; q < T; ++q)
            sum += a[s % 3][ty][q] * b[s % 3][q][tx];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
