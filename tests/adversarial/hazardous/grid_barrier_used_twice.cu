// The grid's barrier is used twice. Its counter has the final value at the second use already, so that no block waits.
// expect: global-race
// sizes: 30x20x25
// workspace: count 4, turned 4 * k * n, parts 8 * m * n
// launch: zero<<<1, 1>>>(count)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), (16, 16)>>>(A, B, C, m, n, k, turned, parts, count)

__device__ void grid_barrier(int* count, int blocks)
{
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int*)count < blocks)
            ;
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void zero(int* count) { *count = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* turned, float* parts,
                             int* count)
{
    const int t = threadIdx.y * 16 + threadIdx.x, blocks = gridDim.x * gridDim.y * 2, z = blockIdx.z;
    for (int i = ((z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 256 + t; i < k * n; i += blocks * 256)
        turned[i % n * k + i / n] = B[i];
    grid_barrier(count, blocks);
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = z; p < k && inside; p += 2)
        sum += A[row * k + p] * turned[column * k + p];
    if (inside)
        parts[z * m * n + i] = sum;
    grid_barrier(count, blocks);
    if (inside && z == 0)
        C[i] = parts[i] + parts[m * n + i];
}
