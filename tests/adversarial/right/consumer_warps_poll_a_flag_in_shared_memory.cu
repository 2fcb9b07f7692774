// One warp copies a row of A to shared memory and stores its progress in a volatile counter, which the others poll.
// sizes: 9x70x100 5x64x64
// config: block=96
// launch: f<<<(ceil(n/64), m), block, 4 * k>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ float line[];
    __shared__ volatile int copied;
    const int t = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 64 + t - 32;
    if (t == 0)
        copied = 0;
    __syncthreads();
    if (t < 32) {
        for (int step = 0; step < k; step += 32) {
            if (step + t < k)
                line[step + t] = A[row * k + step + t];
            __syncwarp();
            if (t == 0) {
                __threadfence_block();
                copied = step + 32;
            }
        }
    } else if (column < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            if (p % 32 == 0) {
                while (copied <= p)
                    ;
                __threadfence_block();
            }
            sum += line[p] * B[p * n + column];
        }
        C[row * n + column] = sum;
    }
}
