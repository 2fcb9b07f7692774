extern "C" __global__ void kernel(const R* a, const R* b, const C* c, C* d, int tiles) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= tiles * 32) return;
    R x[RA], y[RB];
    C z[RC];
    #pragma unroll
    for (int i = 0; i < RA; ++i) x[i] = a[lane * RA + i];
    #pragma unroll
    for (int i = 0; i < RB; ++i) y[i] = b[lane * RB + i];
    #pragma unroll
    for (int i = 0; i < RC; ++i) z[i] = c[lane * RC + i];
    asm volatile("INSTRUCTION" : OUTPUTS : INPUTS);
    #pragma unroll
    for (int i = 0; i < RC; ++i) d[lane * RC + i] = z[i];
}
