"""The grid's barrier is used twice with one counter, whose goal is raised by the number of blocks each time."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    turned, count = Workspace("turned", 4 * problem.k * problem.n), Workspace("count", 4)
    parts = Workspace("parts", 8 * problem.m * problem.n)
    return [
        Launch((1,), (1,), entry="zero", arguments=(count,)),
        Launch(
            (ceil_div(problem.n, 16), ceil_div(problem.m, 16), 2),
            (16, 16),
            arguments=("A", "B", "C", "m", "n", "k", turned, parts, count),
        ),
    ]


DECLARED = {"entry": "f", "launch": launch}
SIZES = ((30, 20, 25),)

SOURCE = """
__device__ void grid_barrier(int* count, int goal)
{
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int*)count < goal)
            ;
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void zero(int* count) { *count = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* turned, float* parts,
                             int* count)
{
    const int t = threadIdx.y * 16 + threadIdx.x, blocks = gridDim.x * gridDim.y * 2, z = blockIdx.z;
    for (int i = ((z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 256 + t; i < k * n; i += blocks * 256)
        turned[i % n * k + i / n] = B[i];
    grid_barrier(count, blocks);
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = z; p < k && inside; p += 2)
        sum += A[row * k + p] * turned[column * k + p];
    if (inside)
        parts[z * m * n + i] = sum;
    grid_barrier(count, 2 * blocks);
    if (inside && z == 0)
        C[i] = parts[i] + parts[m * n + i];
}
"""
