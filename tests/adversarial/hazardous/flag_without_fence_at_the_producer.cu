// A block passes its part of the sums to another by a volatile flag, without __threadfence() between part and flag.
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

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             volatile int* ready)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
        ready[i] = 1;
    } else {
        while (ready[i] == 0)
            ;
        __threadfence();
        C[i] = sum + parts[i];
    }
}
