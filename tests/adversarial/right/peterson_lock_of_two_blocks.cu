// Two blocks add their halves of k to C under Peterson's lock: only volatile flags and __threadfence().
// sizes: 9x11x13 12x12x12
// config: block=128
// kernel: beta=1
// grid: 2

__device__ volatile int wants[2], turn;

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int me = blockIdx.x, other = 1 - me;
    for (int start = 0; start < m * n; start += 128) {
        const int i = start + threadIdx.x;
        float sum = 0.0f;
        for (int p = me; i < m * n && p < k; p += 2)
            sum += A[i / n * k + p] * B[p * n + i % n];
        if (threadIdx.x == 0) {
            wants[me] = 1;
            __threadfence();
            turn = other;
            __threadfence();
            while (wants[other] && turn == other)
                ;
            __threadfence();
        }
        __syncthreads();
        if (i < m * n)
            C[i] += sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            wants[me] = 0;
        }
    }
}
