// Two warps exchange a part in a workspace with __syncthreads, which orders global memory for its block.
// sizes: 5x40x30
// config: block=32x2
// workspace: parts 4 * m * n
// launch: f<<<(ceil(n/32), m), (32, 2)>>>(A, B, C, m, n, k, parts)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k && column < n; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (threadIdx.y == 0 && column < n)
        parts[i] = sum;
    __syncthreads();
    if (threadIdx.y == 1 && column < n)
        C[i] = sum + parts[i];
}
