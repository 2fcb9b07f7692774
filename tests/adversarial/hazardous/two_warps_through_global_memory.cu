// Two warps of a block exchange a part in global memory, with __syncwarp instead of a barrier.
// expect: global-race
// sizes: 5x40x30
// config: block=32x2
// workspace: parts 4 * m * n
// launch: f<<<(ceil(n/32), m), (32, 2)>>>(A, B, C, m, n, k, parts)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 2)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    if (threadIdx.y == 0 && column < n)
        parts[i] = sum;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.y == 1 && column < n)
        C[i] = sum + parts[i];
}
