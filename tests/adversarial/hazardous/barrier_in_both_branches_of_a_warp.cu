// Lanes that load and lanes that fill up with zeros wait at two different barriers, one in each branch.
// expect: divergent-barrier
// not on: GPU
// sizes: 33x35x37

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        if (row < m && p + tx < k) {
            a[ty][tx] = A[row * k + p + tx];
            asm volatile("// the lanes that load");  // so that the compiler does not make one barrier of the two
            __syncthreads();
        } else {
            a[ty][tx] = 0.0f;
            asm volatile("// the lanes that fill up");
            __syncthreads();
        }
        for (int q = 0; q < T && p + q < k && column < n; ++q)
            sum += a[ty][q] * B[(p + q) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
