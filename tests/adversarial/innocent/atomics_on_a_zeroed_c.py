"""Four blocks add their parts to C by atomicAdd, after a launch that has set C to zero; in float64."""

from mmcore import Launch, Scalar, ceil_div


def launch(problem, config, device):
    count = problem.m * problem.n
    return [
        Launch((ceil_div(count, 256),), (256,), entry="zero", arguments=("C", Scalar(count))),
        Launch((ceil_div(problem.n, 16), ceil_div(problem.m, 16), 4), (16, 16)),
    ]


DECLARED = {"dtype": "float64", "entry": "f", "launch": launch}

SOURCE = """
extern "C" __global__ void zero(double* C, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        C[i] = 0.0;
}

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
"""
