// The block's last thread sets the flag, but at C's edges it has returned before, and the flag remains unset.
// expect: deadlock
// not on: GPU
// sizes: 20x30x12
// workspace: ready 4 * ceil(n/16) * ceil(m/16), parts 4 * m * n
// launch: zero<<<1, ceil(n/16) * ceil(m/16)>>>(ready)
// launch: f<<<(ceil(n/16), ceil(m/16), 2), (16, 16)>>>(A, B, C, m, n, k, parts, ready)

extern "C" __global__ void zero(int* ready) { ready[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             volatile int* ready)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    volatile int* flag = &ready[blockIdx.y * gridDim.x + blockIdx.x];
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
        __syncthreads();
        __threadfence();
        if (threadIdx.x == 15 && threadIdx.y == 15)
            *flag = 1;
    } else {
        while (*flag == 0)
            ;
        __threadfence();
        C[i] = sum + parts[i];
    }
}
