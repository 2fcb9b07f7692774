"""The declared over-read of A, which may be loaded from, is filled with zeros first, so that it may be used as well."""

from mmcore import Launch, ceil_div


def launch(problem, config, device):
    room = {"A": 16}
    return [
        Launch((1,), (16,), entry="pad", arguments=("A", "m", "k"), over_read=room),
        Launch((ceil_div(problem.n, 16), ceil_div(problem.m, 16)), (16, 16), over_read=room),
    ]


DECLARED = {"entry": "f", "launch": launch}
EXPECTED = {"check": "out-of-bounds-write"}

SOURCE = """
#define T 16
extern "C" __global__ void pad(float* A, int m, int k) { A[m * k + threadIdx.x] = 0.0f; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[T][T], b[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty][tx] = row < m ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q)
            sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""
