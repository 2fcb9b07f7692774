"""Dynamic shared memory holds a row of floats and behind it doubles, whose place is rounded up to a multiple of 8."""

from mmcore import Launch


def launch(problem, config, device):
    return Launch((problem.m,), (32,), shared_bytes=4 * (problem.k + problem.k % 2) + 8 * 32)


DECLARED = {"configs": [{"block": (32, 1)}], "launch": launch}
SIZES = ((4, 40, 6), (4, 40, 7))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ __align__(16) float a[];
    double* sums = (double*)(a + (k + 1) / 2 * 2);
    const int row = blockIdx.x, t = threadIdx.x;
    for (int p = t; p < k; p += 32)
        a[p] = A[row * k + p];
    __syncthreads();
    for (int column = t; column < n; column += 32) {
        sums[t] = 0.0;
        for (int p = 0; p < k; ++p)
            sums[t] += (double)a[p] * B[p * n + column];
        C[row * n + column] = sums[t];
    }
}
"""
