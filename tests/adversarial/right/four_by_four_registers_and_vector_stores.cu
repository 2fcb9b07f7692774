// A thread keeps 4 by 4 sums in registers, loads B and stores C as float4, and loads rows of A that may be outside.
// sizes: 33x36x37 64x64x64
// config: block=8x8 BM=32 BN=32
// multiples of 4: n

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int top = blockIdx.y * 32 + threadIdx.y * 4, left = blockIdx.x * 32 + threadIdx.x * 4;
    if (top >= m || left >= n)
        return;
    float4 sums[4] = {};
    for (int p = 0; p < k; ++p) {
        const float4 b = *(const float4*)&B[p * n + left];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float a = A[min(top + i, m - 1) * k + p];  // the last row again where there is none
            sums[i].x += a * b.x, sums[i].y += a * b.y, sums[i].z += a * b.z, sums[i].w += a * b.w;
        }
    }
    for (int i = 0; i < 4 && top + i < m; ++i)
        *(float4*)&C[(top + i) * n + left] = sums[i];
}
