// The declared over-read of A, which allows loads only, is filled with zeros so that the kernel can use it.
// expect: out-of-bounds-write
// over-read: A 16
// launch: pad<<<1, 16>>>(A, m, k)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>

#define T 16
extern "C" __global__ void pad(float* A, int m, int k) { A[m * k + threadIdx.x] = 0.0f; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = row < m ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
