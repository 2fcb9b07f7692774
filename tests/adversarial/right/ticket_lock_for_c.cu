// C = C + AB by slices of k under a ticket lock: blocks draw a number and sleep until its turn.
// kernel: beta=1
// grid: ceil(n/16), ceil(m/16), 2

__device__ unsigned drawn, served;  // equal between launches; they go on counting

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = k / 2;
    const bool inside = row < m && column < n, first = threadIdx.x + threadIdx.y == 0;
    float sum = 0.0f;
    for (int p = blockIdx.z ? half : 0; inside && p < (blockIdx.z ? k : half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    __shared__ unsigned ticket;
    if (first) {
        ticket = atomicAdd(&drawn, 1u);
        while (*(volatile unsigned*)&served != ticket)
            __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
    if (inside)
        C[row * n + column] += sum;
    __syncthreads();
    if (first) {
        __threadfence();
        *(volatile unsigned*)&served = ticket + 1;
    }
}
