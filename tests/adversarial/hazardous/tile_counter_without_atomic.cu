// Blocks fetch their next tile by counter++ instead of atomicAdd: two blocks may fetch the same.
// expect: global-race
// workspace: next 4
// launch: zero<<<1, 1>>>(next)
// launch: f<<<3, (16, 16)>>>(A, B, C, m, n, k, next)

extern "C" __global__ void zero(int* next) { *next = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* next)
{
    __shared__ int tile;
    const int wide = (n + 15) / 16, tiles = wide * ((m + 15) / 16);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = (*next)++;
        __syncthreads();
        if (tile >= tiles)
            return;
        const int row = tile / wide * 16 + threadIdx.y, column = tile % wide * 16 + threadIdx.x;
        float sum = 0.0f;
        for (int p = 0; p < k && row < m && column < n; ++p)
            sum += A[row * k + p] * B[p * n + column];
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
}
