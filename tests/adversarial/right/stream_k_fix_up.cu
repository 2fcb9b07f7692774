// Stream-k: blocks take equal runs of (tile, step). The block that ends a tile waits for the parts of the earlier ones.
// sizes: 33x20x37 40x33x90
// workspace: parts 5120, flags 20
// launch: clear<<<1, 5>>>(A, B, C, m, n, k, parts, flags)
// launch: f<<<5, block>>>(A, B, C, m, n, k, parts, flags)

extern "C" __global__ void clear(const float*, const float*, float*, int, int, int, float* parts, unsigned* flags)
{
    flags[threadIdx.x] = 0;
}

extern "C" __global__ void f(
    const float* A, const float* B, float* C, int m, int n, int k, float* parts, unsigned* flags)
{
    const int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, block = blockIdx.x, blocks = gridDim.x;
    const int across = (n + 15) / 16, steps = (k + 7) / 8, all = (m + 15) / 16 * across * steps;
    int i = all * block / blocks;
    const int end = all * (block + 1) / blocks;
    while (i < end) {
        const int tile = i / steps, stop = min(end, (tile + 1) * steps), first = i;
        const int row = tile / across * 16 + y, column = tile % across * 16 + x;
        float sum = 0.0f;
        for (; i < stop; ++i)
            for (int p = i % steps * 8; p < min(k, (i % steps + 1) * 8); ++p)
                if (row < m && column < n)
                    sum += A[row * k + p] * B[p * n + column];
        if (stop < (tile + 1) * steps) {
            parts[block * 256 + t] = sum;
            __syncthreads();
            if (t == 0) {
                __threadfence();
                atomicExch(&flags[block], 1u);
            }
            return;
        }
        // The blocks before this one that have a part of the tile; a block of an empty run is not among them.
        for (int other = block - 1; first > tile * steps && other >= 0; --other) {
            if (all * (other + 1) / blocks <= tile * steps)
                break;
            if (all * other / blocks == all * (other + 1) / blocks)
                continue;
            if (t == 0) {
                while (atomicAdd(&flags[other], 0u) == 0)
                    ;
                __threadfence();
            }
            __syncthreads();
            sum += parts[other * 256 + t];
        }
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
}
