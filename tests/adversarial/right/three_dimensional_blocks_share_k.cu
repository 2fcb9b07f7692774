// Each threadIdx.z takes every fourth term of k. The four sums of an element are added in shared memory.
// config: block=4x16x4
// grid: 1, ceil(m/4), ceil(n/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float parts[4][4][16];
    const int y = threadIdx.x, x = threadIdx.y, z = threadIdx.z;
    const int row = blockIdx.y * 4 + y, column = blockIdx.z * 16 + x;
    float sum = 0.0f;
    for (int p = z; row < m && column < n && p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    parts[z][y][x] = sum;
    for (int half = 2; half; half /= 2) {
        __syncthreads();
        if (z < half)
            parts[z][y][x] += parts[z + half][y][x];
    }
    if (z == 0 && row < m && column < n)
        C[row * n + column] = parts[0][y][x];
}
