"""Whole tiles are loaded past the matrices, as declared, and what lies there is multiplied by 0: NaN stays NaN."""

DECLARED = {"configs": [{"block": (16, 16), "TILE": 16}], "over_read": "tiles"}
SIZES = ((32, 32, 32), (32, 32, 37))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a[ty][tx] = A[row * k + start + tx] * (start + tx < k);
        b[ty][tx] = B[(start + ty) * n + column] * (start + ty < k);
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""
