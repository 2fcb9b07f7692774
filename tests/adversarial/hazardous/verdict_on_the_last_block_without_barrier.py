"""Thread 0 finds out whether its block is the last of the slices; the other threads read the answer without waiting."""

from mmcore import Launch, Workspace, ceil_div


def launch(problem, config, device):
    x, y = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
    parts, counts = Workspace("parts", 4 * 3 * problem.m * problem.n), Workspace("counts", 4 * x * y)
    return [
        Launch((1,), (x * y,), entry="zero", arguments=(counts,)),
        Launch((x, y, 3), (16, 16), entry="f", arguments=("A", "B", "C", "m", "n", "k", parts, counts)),
    ]


DECLARED = {"entry": "f", "launch": launch}
EXPECTED = {"check": "shared-race"}

SOURCE = """
extern "C" __global__ void zero(int* counts) { counts[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts, int* counts)
{
    __shared__ bool last;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k && inside; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    if (inside)
        parts[blockIdx.z * m * n + i] = sum;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = false;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        last = atomicAdd(&counts[blockIdx.y * gridDim.x + blockIdx.x], 1) == 2;
        __threadfence();
    }
    if (last && inside)
        C[i] = parts[i] + parts[m * n + i] + parts[2 * m * n + i];
}
"""
