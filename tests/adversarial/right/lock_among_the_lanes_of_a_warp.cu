// Every lane of a warp spins for the same lock in shared memory, adds its part of the sum, and releases it.
// sizes: 5x7x37 6x6x64
// config: block=32
// grid: n, m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ int lock;
    __shared__ float total;
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x;
    float sum = 0.0f;
    for (int p = lane; p < k; p += 32)
        sum += A[row * k + p] * B[p * n + column];
    if (lane == 0) {
        lock = 0;
        total = 0.0f;
    }
    __syncwarp();
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence_block();
    total += sum;
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncwarp();
    if (lane == 0)
        C[row * n + column] = total;
}
