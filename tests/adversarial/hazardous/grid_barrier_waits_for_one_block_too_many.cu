// The grid's barrier waits with <= instead of <: the count never exceeds the number of blocks.
// expect: deadlock
// not on: GPU
// sizes: 20x30x12
// workspace: count 4, turned 4 * k * n
// launch: zero<<<1, 1>>>(count)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, B, C, m, n, k, turned, count)

extern "C" __global__ void zero(int* count) { *count = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* turned, int* count)
{
    const int t = threadIdx.y * 16 + threadIdx.x, blocks = gridDim.x * gridDim.y;
    for (int i = (blockIdx.y * gridDim.x + blockIdx.x) * 256 + t; i < k * n; i += blocks * 256)
        turned[i % n * k + i / n] = B[i];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int*)count <= blocks)
            ;
        __threadfence();
    }
    __syncthreads();
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * turned[column * k + p];
    C[row * n + column] = sum;
}
