// A thread with two columns returns where the second is outside C, before it has stored the first.
// expect: unwritten-output
// grid: ceil(n/32), ceil(m/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = 2 * (blockIdx.x * 16 + threadIdx.x);
    if (row >= m || column + 1 >= n)
        return;
    float x = 0.0f, y = 0.0f;
    for (int p = 0; p < k; ++p) {
        x += A[row * k + p] * B[p * n + column];
        y += A[row * k + p] * B[p * n + column + 1];
    }
    C[row * n + column] = x;
    C[row * n + column + 1] = y;
}
