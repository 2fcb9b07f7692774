// A warp fills two buffers in turn and only arrives (bar.arrive). Two others wait for full ones and release them.
// sizes: 9x70x100 5x64x64
// config: block=96
// grid: ceil(n/64), m

#define SYNC(barrier) asm volatile("bar.sync %0, 96;" ::"r"(barrier) : "memory")
#define ARRIVE(barrier) asm volatile("bar.arrive %0, 96;" ::"r"(barrier) : "memory")

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float buffer[2][32];
    const int t = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 64 + t - 32, steps = (k + 31) / 32;
    float sum = 0.0f;
    if (t < 32) {
        for (int step = 0; step < steps; ++step) {
            const int b = step & 1, p = step * 32 + t;
            if (step >= 2)
                SYNC(3 + b);
            buffer[b][t] = p < k ? A[row * k + p] : 0.0f;
            ARRIVE(1 + b);
        }
        return;
    }
    for (int step = 0; step < steps; ++step) {
        const int b = step & 1;
        SYNC(1 + b);
        for (int p = 0; p < min(32, k - step * 32); ++p)
            sum += buffer[b][p] * (column < n ? B[(step * 32 + p) * n + column] : 0.0f);
        if (step + 2 < steps)
            ARRIVE(3 + b);
    }
    if (column < n)
        C[row * n + column] = sum;
}
