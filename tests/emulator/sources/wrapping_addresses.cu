// Addresses of shared memory wrap at 32 bits.
extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {
    __shared__ unsigned s[128];
    unsigned address, loaded;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(s));
    address += 4 * threadIdx.x - 0x100000u;
    asm volatile("st.shared.u32 [%0+1048576], %1;" :: "r"(address), "r"(threadIdx.x) : "memory");
    asm volatile("ld.shared.u32 %0, [%1+1048576];" : "=r"(loaded) : "r"(address) : "memory");
    out[blockIdx.x * blockDim.x + threadIdx.x] = loaded + in[0];
}
