// The earlier of a tile's two blocks stores its sums in a workspace. The later one adds its own to them.
// workspace: left 8 * m * n
// launch: f<<<(ceil(n/16), ceil(m/16), 2), block>>>(A, B, C, m, n, k, left)

__device__ unsigned came[4096];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* left)
{
    __shared__ unsigned before;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, z = blockIdx.z;
    const bool inside = row < m && column < n, first = threadIdx.x + threadIdx.y == 0;
    unsigned* const mine = &came[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = z; inside && p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (inside)
        left[z * m * n + row * n + column] = sum;
    __syncthreads();
    if (first) {
        __threadfence();
        before = atomicXor(mine, 1u);  // 0 again when both came
        __threadfence();
    }
    __syncthreads();
    if (before == 0)
        return;
    if (inside)
        C[row * n + column] = left[(1 - z) * m * n + row * n + column] + sum;
}
