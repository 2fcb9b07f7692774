// Lanes may exit, or arrive by other branches, but load a matrix together.
// with TOGETHER: divergent-barrier:
//     executes ldmatrix.sync.aligned.m8n8.x1.shared.b16 without all threads of its warp
// with BODY, EXPECTED: if (i >= n) return; __syncwarp(); -> nothing |
//     if (t % 2) __syncwarp(0xAAAAAAAA); else x += 5; -> nothing
// with BODY, EXPECTED: if (i >= n) { out[i] = 7; out[0] = 1; return; } x = __reduce_add_sync(~0u, x); -> nothing
// with BODY, EXPECTED: if (i < n) { __syncwarp(); out[i] = x; } if (i >= n) return; if (t) return; -> nothing
// with BODY, EXPECTED: for (unsigned p = 0; p < n; ++p) { __syncwarp(); if (p == t) return; } -> nothing
// with BODY, EXPECTED: if (i < 32) x = __shfl_xor_sync(~0u, x, 2); -> nothing
// with BODY, EXPECTED: if (t % 2) { ++x; __syncwarp(); } else { x += s[i ^ 1]; __syncwarp(); } -> nothing
// with BODY, EXPECTED: if (t < 16) x = __reduce_add_sync(0xFFFF, x); else x = __any_sync(0xFFFF0000, x); -> nothing
// with BODY, EXPECTED: if (t % 3) x = __shfl_sync(__activemask(), x, 5); -> nothing |
//     if (i < 32) load(x, s, t); -> nothing
// with BODY, EXPECTED: if (t < 16) load(x, s, t); -> TOGETHER | if (t == 31) return; load(x, s, t); -> TOGETHER |
//     if (t < 16) load(x, s, t); else { __syncwarp(); ++x; } -> TOGETHER
// given: zeros(64, u32), u32(40)
// launch: block=(64,)
// expect: EXPECTED
__device__ void load(unsigned& x, unsigned* s, unsigned t) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
        : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(s + t % 8 * 4)));
}
extern "C" __global__ void f(unsigned* out, unsigned n) {
    __shared__ unsigned s[64];
    const unsigned i = threadIdx.x, t = i % 32;
    unsigned x = s[i] = i;
    __syncthreads();
    BODY
    out[i] = x;
}
