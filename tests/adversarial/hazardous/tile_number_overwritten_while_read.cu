// Thread 0 fetches the block's next tile. A barrier is missing, so that other threads may still read the old number.
// expect: shared-race
// workspace: next 4
// launch: zero<<<1, 1>>>(next)
// launch: f<<<3, (16, 16)>>>(A, B, C, m, n, k, next)

extern "C" __global__ void zero(int* next) { *next = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* next)
{
    __shared__ int tile;
    const int wide = (n + 15) / 16, tiles = wide * ((m + 15) / 16);
    for (;;) {
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = atomicAdd(next, 1);
        __syncthreads();
        const int mine = tile;
        if (mine >= tiles)
            return;
        const int row = mine / wide * 16 + threadIdx.y, column = mine % wide * 16 + threadIdx.x;
        float sum = 0.0f;
        for (int p = 0; p < k && row < m && column < n; ++p)
            sum += A[row * k + p] * B[p * n + column];
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
}
