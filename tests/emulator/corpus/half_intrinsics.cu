// Intrinsics of half precision run in their inline assembly.
// given: zeros(32, f32), HALVES, BFLOATS
// launch: options=HEADERS
// P = (HALVES.astype(f32) * f32(3.1)).astype(f16).astype(f32) + (BFLOATS.astype(u32) << 16).view(f32)
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void f(float* out, const __half* h, const __nv_bfloat16* b) {
    const int t = threadIdx.x;
    out[t] = __half2float(__float2half(__half2float(h[t]) * 3.1f)) + __bfloat162float(b[t]);
}
