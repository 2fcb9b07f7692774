// A block draws its place in a chain as a ticket instead of using its index: it waits only for running blocks.
// sizes: 33x20x37 32x32x32
// workspace: sums 4 * (ceil(n/16) * ceil(m/16)) * 256
// launch: f<<<ceil(n/16) * ceil(m/16) * 4, block>>>(A, B, C, m, n, k, sums)

__device__ unsigned tickets;
__device__ unsigned progress[4096];  // slices done, for each tile; the last slice of a tile sets it back

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums)
{
    __shared__ unsigned ticket;
    const int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, across = (n + 15) / 16;
    if (t == 0)
        ticket = atomicInc(&tickets, gridDim.x - 1);
    __syncthreads();
    const int tile = ticket / 4, slice = ticket % 4, row = tile / across * 16 + y, column = tile % across * 16 + x;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = slice; inside && p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    // Every thread polls for itself.
    while (*(volatile unsigned*)&progress[tile] != slice)
        ;
    __threadfence();
    if (slice > 0)
        sum += sums[tile * 256 + t];
    if (slice < 3)
        sums[tile * 256 + t] = sum;
    else if (inside)
        C[row * n + column] = sum;
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicExch(&progress[tile], (slice + 1) % 4u);
    }
}
