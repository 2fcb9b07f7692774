// A lane waits for a flag that another lane of its warp sets: since Volta both make progress.
// sizes: 3x20x30
// config: block=32
// grid: ceil(n/16), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[16];
    __shared__ volatile int ready[16];
    const int half = threadIdx.x / 16, tx = threadIdx.x % 16, row = blockIdx.y, column = blockIdx.x * 16 + tx;
    if (half == 0)
        ready[tx] = 0;
    __syncwarp();
    float sum = 0.0f;
    for (int p = half; p < k && column < n; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (half == 0) {
        while (ready[tx] == 0)
            ;
        __threadfence_block();
        if (column < n)
            C[row * n + column] = sum + part[tx];
    } else {
        part[tx] = sum;
        __threadfence_block();
        ready[tx] = 1;
    }
}
