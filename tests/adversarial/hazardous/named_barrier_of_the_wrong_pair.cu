// Two adjacent warps share a tile of B, but the named barrier pairs each warp with the one after the next.
// expect: shared-race
// sizes: 7x40x20
// config: block=32x4

__device__ void pair_barrier(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[2][2][32];
    const int lane = threadIdx.x, warp = threadIdx.y, pair = warp / 2, id = 1 + warp % 2;  // 1 + pair is meant
    const int row = blockIdx.y * 4 + warp, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 2) {
        const int mine = p + warp % 2;
        b[pair][warp % 2][lane] = mine < k && column < n ? B[mine * n + column] : 0.0f;
        pair_barrier(id);
        for (int q = 0; q < 2 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * b[pair][q][lane];
        pair_barrier(id);
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
