"""Eight warps add to sums in dynamic shared memory, which nobody has set to zero."""

from mmcore import Launch, ceil_div


def launch(problem, config, device):
    return Launch((ceil_div(problem.n, 32), problem.m), (32, 8), shared_bytes=128)


DECLARED = {"configs": [{"block": (32, 8)}], "launch": launch}
SIZES = ((5, 40, 30),)
EXPECTED = {"check": "uninitialized-read"}

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ float sums[];
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int p = threadIdx.y; p < k; p += 8)
        sum += column < n ? A[row * k + p] * B[p * n + column] : 0.0f;
    atomicAdd(&sums[threadIdx.x], sum);
    __syncthreads();
    if (threadIdx.y == 0 && column < n)
        C[row * n + column] = sums[threadIdx.x];
}
"""
