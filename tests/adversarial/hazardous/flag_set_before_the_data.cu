// The flag is set with its fence one line too early: the part of the sum is stored after it.
// expect: global-race
// sizes: 4x40x30
// config: block=32x1
// workspace: ready 4 * m * n, parts 4 * m * n
// launch: zero<<<(ceil(n/32), m), 32>>>(n, ready)
// launch: f<<<(ceil(n/32), m, 2), 32>>>(A, B, C, m, n, k, parts, ready)

extern "C" __global__ void zero(int n, int* ready)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        ready[blockIdx.y * n + column] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts, int* ready)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    if (blockIdx.z == 0) {
        __threadfence();
        atomicExch(&ready[i], 1);
    }
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
    } else {
        while (atomicAdd(&ready[i], 0) == 0)
            ;
        __threadfence();
        C[i] = sum + parts[i];
    }
}
