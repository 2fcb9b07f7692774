// Loads and stores have cache hints: __ldcg, __ldcs, __ldg, ld.global.nc no_allocate, __stcs and __stwt.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        float b;
        asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(b) : "l"(B + p * n + column));
        const float* a = A + row * k + p;
        sum += (p % 3 == 0 ? __ldcg(a) : p % 3 == 1 ? __ldcs(a) : __ldg(a)) * b;
    }
    if (column % 2)
        __stcs(C + row * n + column, sum);
    else
        __stwt(C + row * n + column, sum);
}
