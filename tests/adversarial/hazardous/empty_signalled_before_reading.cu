// The computing warp signals to the loading warp that the buffer is free before it has read it.
// expect: shared-race
// sizes: 5x40x30
// config: block=32x2
// grid: ceil(n/32), m

#define FULL 1
#define EMPTY 2
#define SYNC(id) asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory")
#define ARRIVE(id) asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory")

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (threadIdx.y == 0) {
        for (int p = 0; p < k; ++p) {
            SYNC(EMPTY);
            b[lane] = column < n ? B[p * n + column] : 0.0f;
            ARRIVE(FULL);
        }
    } else {
        float sum = 0.0f;
        ARRIVE(EMPTY);
        for (int p = 0; p < k; ++p) {
            SYNC(FULL);
            if (p + 1 < k)
                ARRIVE(EMPTY);
            sum += A[row * k + p] * b[lane];
        }
        if (column < n)
            C[row * n + column] = sum;
    }
}
