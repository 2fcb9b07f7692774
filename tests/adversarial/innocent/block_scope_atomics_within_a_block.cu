// atomicAdd_block adds to C: all threads of an element are in one block, and a barrier follows the zeroing.
// sizes: 5x40x30
// config: block=32x4
// kernel: dtype=float64
// grid: ceil(n/32), m

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = 0.0;
    __syncthreads();
    double sum = 0.0;
    for (int p = threadIdx.y; p < k && column < n; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    if (column < n)
        atomicAdd_block(&C[row * n + column], sum);
}
