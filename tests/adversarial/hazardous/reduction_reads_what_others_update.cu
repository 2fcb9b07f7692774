// A reduction has a barrier in each step, but threads read elements that their owners update in the same step.
// expect: shared-race
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
        if (t + stride < 64)  // t % (2 * stride) == 0 is meant
            part[t] += part[t + stride];
        __syncthreads();
    }
    if (t == 0)
        C[row * n + column] = part[0];
}
