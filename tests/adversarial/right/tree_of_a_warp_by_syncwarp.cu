// A warp adds 32 sums in shared memory in place: read, __syncwarp(), write, __syncwarp(), in all lanes.
// sizes: 17x19x37 8x8x100
// config: block=32x4
// grid: n, ceil(m/4)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float sums[4][32];
    const int lane = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 4 + y, column = blockIdx.x;
    if (row >= m)
        return;
    float* const mine = sums[y];
    mine[lane] = 0.0f;
    for (int p = lane; p < k; p += 32)
        mine[lane] += A[row * k + p] * B[p * n + column];
    __syncwarp();
    for (int distance = 1; distance < 32; distance *= 2) {
        const float other = mine[lane ^ distance];
        __syncwarp();
        mine[lane] += other;
        __syncwarp();
    }
    if (lane == blockIdx.x % 32)
        C[row * n + column] = mine[lane];
}
