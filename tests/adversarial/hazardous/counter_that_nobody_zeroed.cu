// The last of three blocks adds up the parts, correctly fenced, but the block counter is never set to zero.
// expect: uninitialized-read
// workspace: parts 12 * m * n, counts 4 * ceil(n/16) * ceil(m/16)
// launch: f<<<(ceil(n/16), ceil(m/16), 3), (16, 16)>>>(A, B, C, m, n, k, parts, counts)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             unsigned* counts)
{
    __shared__ bool last;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k && inside; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    if (inside)
        parts[blockIdx.z * m * n + i] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        last = atomicInc(&counts[blockIdx.y * gridDim.x + blockIdx.x], 2) == 2;
        __threadfence();
    }
    __syncthreads();
    if (last && inside)
        C[i] = parts[i] + parts[m * n + i] + parts[2 * m * n + i];
}
