// Four adjacent elements are stored as a float4 where all four exist, and one by one at C's end.
// sizes: 5x7x6 8x8x8
// config: block=64x1
// launch: f<<<ceil(m * n / 256), 64>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int first = (blockIdx.x * 64 + threadIdx.x) * 4, there = min(4, m * n - first);
    if (there <= 0)
        return;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j = 0; j < there; ++j)
        for (int p = 0; p < k; ++p)
            sum[j] += A[(first + j) / n * k + p] * B[p * n + (first + j) % n];
    if (there == 4)
        *(float4*)(C + first) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    else
        for (int j = 0; j < there; ++j)
            C[first + j] = sum[j];
}
