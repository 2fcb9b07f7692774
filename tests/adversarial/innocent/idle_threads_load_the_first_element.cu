// Threads outside load element 0, which always exists, and replace it by zero.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        const bool a_there = row < m && p + tx < k, b_there = p + ty < k && column < n;
        const float mine = A[a_there ? row * k + p + tx : 0], yours = B[b_there ? (p + ty) * n + column : 0];
        a[ty][tx] = a_there ? mine : 0.0f;
        b[ty][tx] = b_there ? yours : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
