// Beyond k the tiles are never written. NaN there is replaced by 0, but other undefined values are used.
// not on: GPU
// sizes: 33x35x7 20x20x12

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
