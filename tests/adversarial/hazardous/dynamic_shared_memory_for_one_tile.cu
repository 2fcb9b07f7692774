// The kernel keeps two tiles in dynamic shared memory, but the launch requests the bytes of one.
// expect: out-of-bounds-write
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16), 1024>>>

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ float memory[];
    float *a = memory, *b = memory + T * T;
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty * T + tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[ty * T + tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty * T + q] * b[q * T + tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
