"""A CuPy program whose kernel lacks a guard."""

import cupy as cp

source = r"""
extern "C" __global__
void product(const float* a, const float* b, float* c, int n)
{
    int column = blockDim.x * blockIdx.x + threadIdx.x;
    int row = blockDim.y * blockIdx.y + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += a[row * n + i] * b[i * n + column];
    c[row * n + column] = sum;
}
"""
product = cp.RawKernel(source, "product")
n = 100
a, b = cp.random.rand(n, n), cp.random.rand(n, n)
c = cp.zeros((n, n))
blocks = (n + 15) // 16
product((blocks, blocks), (16, 16), (a, b, c, n))
