// The lock is acquired atomically but released by an assignment, which races with threads that try to acquire it.
// expect: global-race
// sizes: 4x40x30
// config: block=32x1
// workspace: locks 4 * m * n
// launch: zero<<<(ceil(n/32), m), 32>>>(C, n, locks)
// launch: f<<<(ceil(n/32), m, 3), 32>>>(A, B, C, m, n, k, locks)

extern "C" __global__ void zero(float* C, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * n + column;
    if (column < n) {
        C[i] = 0.0f;
        locks[i] = 0;
    }
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    while (atomicCAS(&locks[i], 0, 1) != 0)
        ;
    __threadfence();
    C[i] += sum;
    __threadfence();
    locks[i] = 0;
}
