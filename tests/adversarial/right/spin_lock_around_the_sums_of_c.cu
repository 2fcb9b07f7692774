// Blocks of four slices of k add to the same tile of C by plain additions while they hold the tile's lock.
// workspace: locks 4 * ceil(n/16) * ceil(m/16)
// launch: clear<<<(ceil(n/16), ceil(m/16)), block>>>(A, B, C, m, n, k, locks)
// launch: f<<<(ceil(n/16), ceil(m/16), 4), block>>>(A, B, C, m, n, k, locks)

extern "C" __global__ void clear(const float*, const float*, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < m && column < n)
        C[row * n + column] = 0.0f;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        locks[blockIdx.y * gridDim.x + blockIdx.x] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const bool first = threadIdx.x == 0 && threadIdx.y == 0, inside = row < m && column < n;
    int* const lock = &locks[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = blockIdx.z; inside && p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    if (first) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
    if (inside)
        C[row * n + column] += sum;
    __syncthreads();
    if (first) {
        __threadfence();
        atomicExch(lock, 0);
    }
}
