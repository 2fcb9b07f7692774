// Three blocks fetch the numbers of their tiles from an atomic counter. The last one resets it.
// grid: 3

__device__ int next_tile, finished;

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ int fetched;
    const int x = threadIdx.x, y = threadIdx.y, across = (n + 15) / 16, tiles = (m + 15) / 16 * across;
    while (true) {
        if (x == 0 && y == 0)
            fetched = atomicAdd(&next_tile, 1);
        __syncthreads();
        const int tile = fetched;
        __syncthreads();
        if (tile >= tiles)
            break;
        const int row = tile / across * 16 + y, column = tile % across * 16 + x;
        float sum = 0.0f;
        for (int p = 0; row < m && column < n && p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
    if (x == 0 && y == 0) {
        __threadfence();
        if (atomicAdd(&finished, 1) == 2) {
            __threadfence();
            next_tile = 0;
            finished = 0;
        }
    }
}
