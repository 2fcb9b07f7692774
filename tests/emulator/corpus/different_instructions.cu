// Lanes that wait for each other must execute the same instruction.
// with CALL: x = __shfl_xor_sync(~0u, x, 2) | x = __any_sync(~0u, x)
// given: zeros(64, u32)
// launch: block=(64,)
// expect: divergent-barrier at line 10: they must execute the same instruction
// expect: divergent-barrier at line 11: they must execute the same instruction
extern "C" __global__ void f(unsigned* out) {
    const unsigned i = threadIdx.x, t = i % 32;
    unsigned x = i;
    if (t % 2) CALL;
    else { __syncwarp(); ++x; }
    out[i] = x;
}
