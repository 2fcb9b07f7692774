// A lane that others wait for must not pass them.
// with CALL: __syncwarp() | x = __shfl_xor_sync(~0u, x, 2) | x = __any_sync(~0u, x) | x = __match_any_sync(~0u, x) |
//     x = __reduce_add_sync(~0u, x)
// with BODY, WORDS: if (t % 2) CALL; -> lane 0, | if (i < 40 && t != 0) CALL; -> lane 0, |
//     for (unsigned p = 0; p < n; ++p) if (t % 2) CALL; -> lane |
//     for (unsigned p = t; p < 100; p += 32) { CALL; } -> lane 4,
// given: zeros(64, u32), u32(40)
// launch: block=(64,)
// expect: divergent-barrier: of block (0, 0) reaches ... with the mask 0xffffffff, and WORDS ...
//     which the mask names, continues without it
extern "C" __global__ void f(unsigned* out, unsigned n) {
    __shared__ unsigned s[64];
    const unsigned i = threadIdx.x, t = i % 32;
    unsigned x = s[i] = i;
    __syncthreads();
    BODY
    out[i] = x;
}
