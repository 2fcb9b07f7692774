"""Four blocks add to the same element by atomicAdd_block, which is atomic only among the threads of one block."""

from mmcore import Launch, Scalar, ceil_div


def launch(problem, config, device):
    count = problem.m * problem.n
    return [
        Launch((ceil_div(count, 256),), (256,), entry="zero", arguments=("C", Scalar(count))),
        Launch((ceil_div(problem.n, 16), ceil_div(problem.m, 16), 4), (16, 16)),
    ]


DECLARED = {"entry": "f", "launch": launch}
EXPECTED = {"check": "global-race"}

SOURCE = """
extern "C" __global__ void zero(float* C, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        C[i] = 0.0f;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd_block(&C[row * n + column], sum);
}
"""
