// Four elements are stored as one float4. Their number is rounded up, so that the last one exceeds C's end.
// expect: out-of-bounds-write
// sizes: 5x7x6 8x8x8
// config: block=64x1
// launch: f<<<ceil(m * n / 256), 64>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int first = (blockIdx.x * 64 + threadIdx.x) * 4;
    if (first >= m * n)
        return;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j = 0; j < 4 && first + j < m * n; ++j)
        for (int p = 0; p < k; ++p)
            sum[j] += A[(first + j) / n * k + p] * B[p * n + (first + j) % n];
    *(float4*)(C + first) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
