// Rows of 16 have a stride of 15: the last element of a row and the first of the next share an address.
// expect: shared-race

#define T 16
#define STRIDE 15  // 17 is meant, against bank conflicts
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T * 17], b[T * 17];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty * STRIDE + tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[ty * STRIDE + tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty * STRIDE + q] * b[q * STRIDE + tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
