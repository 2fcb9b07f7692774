"""Warps hand up the lower half of k by st.relaxed and ld.relaxed flags with a fence.acq_rel.gpu on either side."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    grid = (ceil_div(problem.n, 32), ceil_div(problem.m, 4))
    flags = Workspace("flags", 4 * grid[0] * grid[1] * 4)
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("sums", 4 * grid[0] * grid[1] * 128), flags)
    return [
        Launch(grid=grid, block=(4,), entry="lower", arguments=arguments),
        Launch(grid=(*grid, 2), block=(32, 4), entry="f", arguments=arguments),
    ]


DECLARED = {"configs": [{"block": (32, 4)}], "launch": launches}

SOURCE = """
extern "C" __global__ void lower(const float*, const float*, float*, int, int, int, float*, int* flags)
{
    flags[(blockIdx.y * gridDim.x + blockIdx.x) * 4 + threadIdx.x] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int* flags)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 4 + y, column = blockIdx.x * 32 + x;
    const int warp = (blockIdx.y * gridDim.x + blockIdx.x) * 4 + y, half = k / 2;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = blockIdx.z ? half : 0; inside && p < (blockIdx.z ? k : half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        sums[warp * 32 + x] = sum;
        __syncwarp();
        if (x == 0) {
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
            asm volatile("st.relaxed.gpu.global.b32 [%0], 1;" ::"l"(flags + warp) : "memory");
        }
    } else {
        int up;
        do
            asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(up) : "l"(flags + warp) : "memory");
        while (!up);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (inside)
            C[row * n + column] = sums[warp * 32 + x] + sum;
    }
}
"""
