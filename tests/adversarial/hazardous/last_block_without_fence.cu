// The last of three blocks adds up the parts of all, but no fence orders the parts before the block counter.
// expect: global-race
// workspace: counts 4 * ceil(n/16) * ceil(m/16), parts 12 * m * n
// launch: zero<<<1, ceil(n/16) * ceil(m/16)>>>(counts)
// launch: f<<<(ceil(n/16), ceil(m/16), 3), (16, 16)>>>(A, B, C, m, n, k, parts, counts)

extern "C" __global__ void zero(int* counts) { counts[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts, int* counts)
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
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = atomicAdd(&counts[blockIdx.y * gridDim.x + blockIdx.x], 1) == 2;
    __syncthreads();
    if (last && inside)
        C[i] = parts[i] + parts[m * n + i] + parts[2 * m * n + i];
}
