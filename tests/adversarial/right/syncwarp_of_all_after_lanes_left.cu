// Lanes right of C have returned when the others call __syncwarp() of all lanes, which ignores exited lanes.
// config: block=32x4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float line[4][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 4 + y, column = blockIdx.x * 32 + x;
    if (row >= m || column >= n)
        return;
    const int live = min(32, n - (int)blockIdx.x * 32);
    float sum = 0.0f;
    for (int step = 0; step < k; step += live) {
        line[y][x] = step + x < k ? A[row * k + step + x] : 0.0f;
        __syncwarp();
        for (int p = 0; p < min(live, k - step); ++p)
            sum += line[y][p] * B[(step + p) * n + column];
        __syncwarp();
    }
    C[row * n + column] = sum;
}
