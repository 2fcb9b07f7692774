// All lanes of a warp load a matrix together.
// with BODY: if (t < 16) load(x, s, t); | if (t == 31) return; load(x, s, t);
// with BODY: if (t < 16) load(x, s, t); else { __syncwarp(); ++x; }
// given: zeros(64, u32)
// launch: block=(64,)
// expect: divergent-barrier:
//     executes ldmatrix.sync.aligned.m8n8.x1.shared.b16 without all threads of its warp
__device__ void load(unsigned& x, unsigned* s, unsigned t) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
        : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(s + t % 8 * 4)));
}
extern "C" __global__ void f(unsigned* out) {
    __shared__ unsigned s[64];
    const unsigned i = threadIdx.x, t = i % 32;
    unsigned x = s[i] = i;
    __syncthreads();
    BODY
    out[i] = x;
}
