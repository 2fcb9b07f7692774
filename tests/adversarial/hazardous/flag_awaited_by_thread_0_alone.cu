// Thread 0 waits for the flag, and no barrier makes the other warps wait for thread 0.
// expect: global-race
// sizes: 20x30x25
// workspace: ready 4 * ceil(n/16) * ceil(m/16), parts 4 * m * n
// launch: zero<<<1, ceil(n/16) * ceil(m/16)>>>(ready)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), (16, 16)>>>(A, B, C, m, n, k, parts, ready)

extern "C" __global__ void zero(int* ready) { ready[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts, int* ready)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n, first = threadIdx.x == 0 && threadIdx.y == 0;
    int* flag = &ready[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k && inside; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        if (inside)
            parts[i] = sum;
        __syncthreads();
        __threadfence();
        if (first)
            atomicExch(flag, 1);
    } else {
        while (first && atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
        if (inside)
            C[i] = sum + parts[i];
    }
}
