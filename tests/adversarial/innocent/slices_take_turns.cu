// Slices of k add to C one after the other: each waits for its turn and passes it on, with fences and barriers.
// sizes: 20x20x30 20x20x3
// workspace: turns 4 * ceil(n/16) * ceil(m/16)
// launch: zero<<<1, ceil(n/16) * ceil(m/16)>>>(turns)
// launch: f<<<(ceil(n/16), ceil(m/16), 4), (16, 16)>>>(A, B, C, m, n, k, turns)

extern "C" __global__ void zero(int* turns) { turns[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* turns)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const int z = blockIdx.z, first = k * z / 4, last = k * (z + 1) / 4;
    const bool inside = row < m && column < n, leader = threadIdx.x == 0 && threadIdx.y == 0;
    volatile int* turn = &turns[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = first; p < last && inside; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (leader) {
        while (*turn != z)
            ;
        __threadfence();
    }
    __syncthreads();
    if (inside)
        C[i] = z == 0 ? sum : C[i] + sum;
    __syncthreads();
    if (leader) {
        __threadfence();
        *turn = z + 1;
    }
}
