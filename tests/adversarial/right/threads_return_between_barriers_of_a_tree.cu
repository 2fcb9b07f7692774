// A tree adds a block's partial sums. The threads that a step no longer needs return inside its loop.
// sizes: 17x19x37 8x8x300
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
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (t >= half)
            return;
        part[t] += part[t + half];
    }
    C[row * n + column] = part[0];
}
