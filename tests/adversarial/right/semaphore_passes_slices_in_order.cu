// CUTLASS's serial split-k: slice z waits until a tile's semaphore is z. The last slice resets it to 0.
// grid: ceil(n/16), ceil(m/16), 3

__device__ int semaphores[4096];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, z = blockIdx.z;
    const bool inside = row < m && column < n, first = threadIdx.x + threadIdx.y == 0;
    int* const semaphore = &semaphores[blockIdx.y * gridDim.x + blockIdx.x];
    float sum = 0.0f;
    for (int p = z; inside && p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    if (first) {
        int turn;
        do
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(turn) : "l"(semaphore) : "memory");
        while (turn != z);
    }
    __syncthreads();
    if (inside)
        C[row * n + column] = z ? C[row * n + column] + sum : sum;
    __syncthreads();
    if (first)
        asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(semaphore), "r"(z < 2 ? z + 1 : 0) : "memory");
}
