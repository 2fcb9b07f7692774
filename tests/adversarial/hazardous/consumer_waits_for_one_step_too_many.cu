// The loading warp rounds the steps of k down. The computing warp rounds them up and waits for one more.
// expect: deadlock
// not on: GPU
// sizes: 3x40x8 3x40x9
// config: block=32x2
// grid: ceil(n/32), m

#define FULL 1
#define EMPTY 2
#define SYNC(id) asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory")
#define ARRIVE(id) asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory")

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[2][32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (threadIdx.y == 0) {
        for (int s = 0; s < k / 2; ++s) {
            SYNC(EMPTY);
            for (int q = 0; q < 2; ++q)
                b[q][lane] = 2 * s + q < k && column < n ? B[(2 * s + q) * n + column] : 0.0f;
            ARRIVE(FULL);
        }
    } else {
        float sum = 0.0f;
        for (int s = 0; s < (k + 1) / 2; ++s) {
            ARRIVE(EMPTY);
            SYNC(FULL);
            for (int q = 0; q < 2 && 2 * s + q < k; ++q)
                sum += A[row * k + 2 * s + q] * b[q][lane];
        }
        if (column < n)
            C[row * n + column] = sum;
    }
}
