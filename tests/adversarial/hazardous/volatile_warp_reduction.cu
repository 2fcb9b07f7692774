// The old warp-synchronous reduction: volatile shared memory, without synchronization between the lanes of a warp.
// expect: shared-race
// sizes: 5x6x70
// config: block=32
// grid: n, m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ volatile float part[64];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x;
    float sum = 0.0f;
    for (int p = lane; p < k; p += 32)
        sum += A[row * k + p] * B[p * n + column];
    part[lane] = sum;
    part[lane + 32] = 0.0f;
    part[lane] += part[lane + 16];
    part[lane] += part[lane + 8];
    part[lane] += part[lane + 4];
    part[lane] += part[lane + 2];
    part[lane] += part[lane + 1];
    if (lane == 0)
        C[row * n + column] = part[0];
}
