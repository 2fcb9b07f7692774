// Inline PTX: indices by mad.lo and bfe, the sum by a predicated fma.rn, bytes by prmt, the store by st.global.cs.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row, column, t = threadIdx.y << 4 | threadIdx.x;
    asm("{\n\t.reg .u32 y;\n\tbfe.u32 y, %1, 4, 4;\n\tmad.lo.s32 %0, %2, 16, y;\n\t}"
        : "=r"(row) : "r"(t), "r"(blockIdx.y));
    asm("{ .reg .u32 x; and.b32 x, %1, 15; mad.lo.u32 %0, %2, 16, x; }" : "=r"(column) : "r"(t), "r"(blockIdx.x));
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float a = A[row * k + p];
        unsigned turned, bits;
        asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(turned) : "r"(__float_as_uint(a)));
        asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(bits) : "r"(turned));
        asm("{ .reg .pred q; setp.neu.f32 q, %1, 0f00000000; @q fma.rn.f32 %0, %1, %2, %0; }"
            : "+f"(sum) : "f"(__uint_as_float(bits)), "f"(B[p * n + column]));
    }
    asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(C + row * n + column), "f"(sum) : "memory");
}
