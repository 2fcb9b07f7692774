// Short tiles are filled in part, and only filled elements are read: loops end at k, threads at m and n.
// sizes: 20x21x10 33x35x37

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T + 1], b[T][T + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        if (row < m && p + tx < k)
            a[ty][tx] = A[row * k + p + tx];
        if (p + ty < k && column < n)
            b[ty][tx] = B[(p + ty) * n + column];
        __syncthreads();
        for (int q = 0; inside && q < min(T, k - p); ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (inside)
        C[row * n + column] = sum;
}
