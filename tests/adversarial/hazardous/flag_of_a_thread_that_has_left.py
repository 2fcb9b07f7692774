"""The block's last thread sets the flag, unless it lies outside C and has returned: at the edges nobody sets it."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    parts, ready = Workspace("parts", 4 * problem.m * problem.n), Workspace("ready", 4 * x * y)
    return [
        Launch((1,), (x * y,), entry="zero", arguments=(ready,)),
        Launch((x, y, 2), (16, 16), entry="f", arguments=("A", "B", "C", "m", "n", "k", parts, ready)),
    ]


DECLARED = {"entry": "f", "launch": launch}
SIZES = ((20, 30, 12),)
EXPECTED = {"check": "deadlock"}
GPU = False  # Blocks wait for ever.

SOURCE = """
extern "C" __global__ void zero(int* ready) { ready[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts,
                             volatile int* ready)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    volatile int* flag = &ready[blockIdx.y * gridDim.x + blockIdx.x];
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
        __syncthreads();
        __threadfence();
        if (threadIdx.x == 15 && threadIdx.y == 15)
            *flag = 1;
    } else {
        while (*flag == 0)
            ;
        __threadfence();
        C[i] = sum + parts[i];
    }
}
"""
