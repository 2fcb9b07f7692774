// Slices of k store their sums in a workspace. The block that arrives last adds them up and resets the counter.
// workspace: parts 4 * ceil(n/16) * ceil(m/16) * 256 * 4
// launch: f<<<(ceil(n/16), ceil(m/16), 4), block>>>(A, B, C, m, n, k, parts)

__device__ unsigned counts[4096];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts)
{
    __shared__ bool last;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const int tile = blockIdx.y * gridDim.x + blockIdx.x;
    float* const mine = &parts[tile * 1024 + y * 16 + x];
    float sum = 0.0f;
    if (row < m && column < n)
        for (int p = blockIdx.z; p < k; p += 4)
            sum += A[row * k + p] * B[p * n + column];
    mine[blockIdx.z * 256] = sum;
    __syncthreads();
    if (x == 0 && y == 0) {
        __threadfence();
        last = atomicInc(&counts[tile], 3) == 3;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    if (row < m && column < n)
        C[row * n + column] = (mine[0] + mine[256]) + (mine[512] + mine[768]);
}
