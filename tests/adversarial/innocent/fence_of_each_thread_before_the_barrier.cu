// Each thread fences its part and thread 0 sets the flag after a barrier, which suffices: __threadfence() is fence.sc.
// sizes: 20x30x25
// workspace: ready 4 * ceil(n/16) * ceil(m/16), parts 4 * m * n
// launch: zero<<<1, ceil(n/16) * ceil(m/16)>>>(ready)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), (16, 16)>>>(A, B, C, m, n, k, parts, ready)

extern "C" __global__ void zero(int* ready) { ready[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             volatile int* ready)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n, first = threadIdx.x == 0 && threadIdx.y == 0;
    volatile int* flag = &ready[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k && inside; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        if (inside)
            parts[i] = sum;
        __threadfence();
        __syncthreads();
        if (first)
            *flag = 1;
    } else {
        while (first && *flag == 0)
            ;
        __syncthreads();
        __threadfence();
        if (inside)
            C[i] = sum + parts[i];
    }
}
