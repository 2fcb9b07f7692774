// A loading warp runs two buffers ahead, with a full and an empty barrier for each buffer.
// sizes: 5x40x31
// config: block=32x2
// grid: ceil(n/32), m

#define SYNC(id) asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory")
#define ARRIVE(id) asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory")

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[2][32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane, steps = (k + 31) / 32;
    if (threadIdx.y == 0) {
        for (int s = 0; s < steps; ++s) {
            if (s >= 2)
                SYNC(3 + s % 2);
            a[s % 2][lane] = 32 * s + lane < k ? A[row * k + 32 * s + lane] : 0.0f;
            ARRIVE(1 + s % 2);
        }
    } else {
        float sum = 0.0f;
        for (int s = 0; s < steps; ++s) {
            SYNC(1 + s % 2);
            for (int q = 0; q < 32 && 32 * s + q < k && column < n; ++q)
                sum += a[s % 2][q] * B[(32 * s + q) * n + column];
            if (s + 2 < steps)
                ARRIVE(3 + s % 2);
        }
        if (column < n)
            C[row * n + column] = sum;
    }
}
