// All blocks zero C together and then add to it, but __syncthreads waits for the threads of one block only.
// expect: global-race
// grid: ceil(n/16), ceil(m/16), 3

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int blocks = gridDim.x * gridDim.y * gridDim.z;
    for (int i = block * 256 + threadIdx.y * 16 + threadIdx.x; i < m * n; i += blocks * 256)
        C[i] = 0.0f;
    __threadfence();
    __syncthreads();
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
