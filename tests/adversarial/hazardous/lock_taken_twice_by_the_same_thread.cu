// The function that adds takes the lock, which its caller holds already.
// expect: deadlock
// not on: GPU
// sizes: 2x40x12
// config: block=32x1
// workspace: locks 4 * m * n
// launch: zero<<<(ceil(n/32), m), 32>>>(C, n, locks)
// launch: f<<<(ceil(n/32), m, 3), 32>>>(A, B, C, m, n, k, locks)

__device__ void lock(int* mutex)
{
    while (atomicCAS(mutex, 0, 1) != 0)
        ;
    __threadfence();
}

__device__ void unlock(int* mutex)
{
    __threadfence();
    atomicExch(mutex, 0);
}

__device__ void add(float* to, float part, int* mutex)
{
    lock(mutex);
    *to += part;
    unlock(mutex);
}

extern "C" __global__ void zero(float* C, int n, int* locks)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n) {
        C[blockIdx.y * n + column] = 0.0f;
        locks[blockIdx.y * n + column] = 0;
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
    lock(&locks[i]);
    add(&C[i], sum, &locks[i]);
    unlock(&locks[i]);
}
