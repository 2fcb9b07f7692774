// The index of the previous step's buffer is (s - 1) % 3, which is -1 in the first step. That value is dropped.
// expect: out-of-bounds-read

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float tiles[3][2][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const int steps = (k + T - 1) / T;
    float sum = 0.0f;
    for (int s = 0; s <= steps; ++s) {
        const int p = s * T, now = s % 3, before = (s - 1) % 3;
        tiles[now][0][ty][tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        tiles[now][1][ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        float part = 0.0f;
        for (int q = 0; q < T; ++q)
            part += tiles[before][0][ty][q] * tiles[before][1][q][tx];
        sum = s > 0 ? sum + part : 0.0f;
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
