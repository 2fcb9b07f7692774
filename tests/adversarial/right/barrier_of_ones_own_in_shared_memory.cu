// A barrier written with atomicAdd on a counter in shared memory and a volatile poll replaces __syncthreads().
// sizes: 17x19x21
// config: block=8x8

__device__ void wait(int* arrived, int turn)
{
    __threadfence_block();
    atomicAdd(arrived, 1);
    while (*(volatile int*)arrived < turn * 64)
        ;
    __threadfence_block();
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tile_a[8][8], tile_b[8][8];
    __shared__ int arrived;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    if (x == 0 && y == 0)
        arrived = 0;
    __syncthreads();
    float sum = 0.0f;
    int turn = 0;
    for (int step = 0; step < k; step += 8) {
        tile_a[y][x] = row < m && step + x < k ? A[row * k + step + x] : 0.0f;
        tile_b[y][x] = step + y < k && column < n ? B[(step + y) * n + column] : 0.0f;
        wait(&arrived, ++turn);
        for (int p = 0; p < 8; ++p)
            sum += tile_a[y][p] * tile_b[p][x];
        wait(&arrived, ++turn);
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
