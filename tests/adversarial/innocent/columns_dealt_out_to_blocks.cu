// Adjacent elements of C are written by different blocks: block b has every fourth column, starting at b.
// grid: 4, ceil(m/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y;
    for (int column = threadIdx.x * 4 + blockIdx.x; column < n && row < m; column += 64) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
