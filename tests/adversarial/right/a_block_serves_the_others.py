"""Block 0 writes B, turned over, to a workspace and raises a flag; the others poll it, and give up after a while."""

from mmcore import Config, DeviceProperties, Launch, Problem, Workspace


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    arguments = ("A", "B", "C", "m", "n", "k", Workspace("turned", 4 * problem.n * problem.k), Workspace("flag", 4))
    return [
        Launch(grid=(1,), block=(1,), entry="lower", arguments=arguments),
        Launch(grid=(5,), block=config.block, entry="f", arguments=arguments),
    ]


DECLARED = {"launch": launches, "configs": [{"block": (256,)}]}

SOURCE = """
extern "C" __global__ void lower(const float*, const float*, float*, int, int, int, float*, int* flag)
{
    *flag = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* turned, int* flag)
{
    __shared__ int raised;
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        for (int i = t; i < n * k; i += 256)
            turned[i % n * k + i / n] = B[i];
        __syncthreads();
        if (t == 0)
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
        return;
    }
    if (t == 0) {
        raised = 0;
        for (int tries = 0; !raised && tries < 1 << 20; ++tries) {
            int seen;
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
            raised = seen;
        }
    }
    __syncthreads();
    if (!raised)
        return;
    for (int i = (blockIdx.x - 1) * 256 + t; i < m * n; i += 1024) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[i / n * k + p] * turned[i % n * k + p];
        C[i] = sum;
    }
}
"""
