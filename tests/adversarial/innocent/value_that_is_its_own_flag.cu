// A thread polls a volatile part until it is no longer the NaN of an earlier launch, and reads nothing else.
// sizes: 4x40x30
// config: block=32x1
// workspace: parts 4 * m * n
// launch: mark<<<(ceil(n/32), m), 32>>>(n, parts)
// launch: f<<<(ceil(n/32), m, 2), 32>>>(A, B, C, m, n, k, parts)

#define NOTHING 0x7fffabcd

extern "C" __global__ void mark(int n, int* parts)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        parts[blockIdx.y * n + column] = NOTHING;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, volatile int* parts)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = __float_as_int(sum);
    } else {
        int part;
        do
            part = parts[i];
        while (part == NOTHING);
        C[i] = sum + __int_as_float(part);
    }
}
