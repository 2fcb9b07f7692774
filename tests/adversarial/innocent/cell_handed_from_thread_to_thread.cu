// An element of shared memory passes from warp to warp, with a barrier at each transfer.
// sizes: 5x40x30
// config: block=32x4
// grid: ceil(n/32), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float baton[32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k && column < n; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    for (int runner = 0; runner < 4; ++runner) {
        if (threadIdx.y == runner)
            baton[lane] = runner == 0 ? sum : baton[lane] + sum;
        __syncthreads();
    }
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = baton[lane];
}
