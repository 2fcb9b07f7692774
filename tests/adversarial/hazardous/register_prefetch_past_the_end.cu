// The next tile is loaded into registers early, even after the last one, but no over-read is declared.
// expect: out-of-bounds-read
// sizes: 32x32x32

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    a[ty][tx] = A[row * k + tx];
    b[ty][tx] = B[ty * n + column];
    float sum = 0.0f;
    for (int p = T; p <= k; p += T) {
        const float next_a = A[row * k + p + tx], next_b = B[(p + ty) * n + column];
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
        a[ty][tx] = next_a;
        b[ty][tx] = next_b;
    }
    C[row * n + column] = sum;
}
