"""Beyond k the tiles are never written; what is NaN there is taken for 0, other garbage for a number."""

SIZES = ((33, 35, 7), (20, 20, 12))
GPU = False  # There the product depends on what shared memory held before.

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        if (row < m && start + tx < k)
            a[ty][tx] = A[row * k + start + tx];
        if (start + ty < k && column < n)
            b[ty][tx] = B[(start + ty) * n + column];
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            const float term = a[ty][p] * b[p][tx];
            sum += term == term ? term : 0.0f;
        }
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""
