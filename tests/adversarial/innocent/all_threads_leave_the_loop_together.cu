// Thread 0 stores the loop's end. A barrier precedes all reads of it, and another one its next change.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ int p, end;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const bool leader = threadIdx.x == 0 && threadIdx.y == 0;
    float sum = 0.0f;
    for (int s = 0;; s += 8) {
        if (leader) {
            p = s;
            end = s + 8 >= k;
        }
        __syncthreads();
        const int first = p, last = end;
        for (int q = first; q < min(k, first + 8) && row < m && column < n; ++q)
            sum += A[row * k + q] * B[q * n + column];
        if (last)
            break;
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
