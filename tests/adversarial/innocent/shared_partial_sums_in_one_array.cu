// Hillis and Steele's scan works in one array: read into a register, barrier, write, barrier.
// sizes: 5x6x100
// config: block=64
// grid: n, m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[64];
    const int t = threadIdx.x, row = blockIdx.y, column = blockIdx.x;
    float sum = 0.0f;
    for (int p = t; p < k; p += 64)
        sum += A[row * k + p] * B[p * n + column];
    part[t] = sum;
    __syncthreads();
    for (int stride = 1; stride < 64; stride *= 2) {
        const float other = t >= stride ? part[t - stride] : 0.0f;
        __syncthreads();
        part[t] += other;
        __syncthreads();
    }
    if (t == 0)
        C[row * n + column] = part[63];
}
