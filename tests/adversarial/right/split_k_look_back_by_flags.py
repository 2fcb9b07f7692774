"""Slices of k are blocks along z: each waits for the flag of the slice below it, and hands on the sum so far."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div

SLICES = 3


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    sums, flags = Workspace("sums", 4 * x * y * 256), Workspace("flags", 4 * x * y * SLICES)
    arguments = ("A", "B", "C", "m", "n", "k", sums, flags)
    return [
        Launch(grid=(ceil_div(x * y * SLICES, 256),), block=(256,), entry="clear", arguments=arguments),
        Launch(grid=(x, y, SLICES), block=config.block, entry="f", arguments=arguments),
    ]


DECLARED = {"launch": launches}

SOURCE = """
extern "C" __global__ void clear(const float*, const float*, float*, int m, int n, int k, float* sums, int* flags)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < (m + 15) / 16 * ((n + 15) / 16) * 3)
        flags[i] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int* flags)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const int z = blockIdx.z, tile = blockIdx.y * gridDim.x + blockIdx.x, tiles = gridDim.x * gridDim.y;
    float* const handed = &sums[tile * 256 + y * 16 + x];
    float sum = 0.0f;
    for (int p = k * z / 3; p < k * (z + 1) / 3; ++p)
        if (row < m && column < n)
            sum += A[row * k + p] * B[p * n + column];
    if (z > 0) {
        if (x == 0 && y == 0) {
            while (*(volatile int*)&flags[(z - 1) * tiles + tile] == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        sum += *handed;
    }
    if (z < 2) {
        *handed = sum;
        __syncthreads();
        if (x == 0 && y == 0) {
            __threadfence();
            *(volatile int*)&flags[z * tiles + tile] = 1;
        }
    } else if (row < m && column < n) {
        C[row * n + column] = sum;
    }
}
"""
