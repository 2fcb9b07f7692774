// The lock is chosen by element and slice, so that two slices hold different locks for the same element.
// expect: global-race
// sizes: 4x40x30
// config: block=32x1
// workspace: locks 12 * m * n
// launch: zero<<<(ceil(n/32), m, 3), 32>>>(C, m, n, locks)
// launch: f<<<(ceil(n/32), m, 3), 32>>>(A, B, C, m, n, k, locks)

extern "C" __global__ void zero(float* C, int m, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * n + column;
    if (column < n)
        locks[blockIdx.z * m * n + i] = 0;
    if (column < n && blockIdx.z == 0)
        C[i] = 0.0f;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    int* lock = &locks[blockIdx.z * m * n + i];
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    C[i] += sum;
    __threadfence();
    atomicExch(lock, 0);
}
