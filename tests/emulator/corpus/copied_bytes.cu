// Bytes that are not copied are zeros.
// given: np.full(4, 0x11223344, u32), zeros(4, u32)
// launch: block=(1,)
// Q = [0x11223344, 0x3344, 0, 0]
extern "C" __global__ void f(const unsigned* in, unsigned* out) {
    __shared__ __align__(16) unsigned s[4];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(in), "r"(6));
    asm volatile("cp.async.wait_all;");
    for (int i = 0; i < 4; ++i) out[i] = s[i];
}
