// Barriers reduce to 32 partial sums. The last warp adds these without __syncwarp and without volatile.
// expect: shared-race
// sizes: 5x6x200
// config: block=128
// grid: n, m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[128];
    const int t = threadIdx.x, row = blockIdx.y, column = blockIdx.x;
    float sum = 0.0f;
    for (int p = t; p < k; p += 128)
        sum += A[row * k + p] * B[p * n + column];
    part[t] = sum;
    __syncthreads();
    for (int stride = 64; stride >= 32; stride /= 2) {
        if (t < stride)
            part[t] += part[t + stride];
        __syncthreads();
    }
    for (int stride = 16; stride > 0; stride /= 2)
        if (t < stride)
            part[t] += part[t + stride];
    if (t == 0)
        C[row * n + column] = part[0];
}
