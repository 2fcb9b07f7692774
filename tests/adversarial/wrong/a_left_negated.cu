// Each thread negates its row of A, subtracts the products and leaves A negated; C is right.
// sizes: 33x20x21 64x24x20
// config: block=64
// grid: ceil(m/bx)

extern "C" __global__ void f(float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    for (int p = 0; p < k; ++p)
        A[row * k + p] = -A[row * k + p];
    for (int column = 0; column < n; ++column) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum -= A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
