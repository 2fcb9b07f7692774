// How wgmma's sums lie in the registers of a warpgroup, and their way to C.

#pragma once

#include <cuda_bf16.h>

// Of a warpgroup's 64×N sums a warp has 16 rows, a thread two of these, and pairs of neighbours every eight columns.
// C is stored by rows of `ldc` elements and begins, for this warpgroup, at `top` and `left`.
template <int COUNT>
inline __device__ void store_sums(const float (&sum)[COUNT], __nv_bfloat16* C, int ldc, int top, int left)
{
    const int thread = threadIdx.x % 128, lane = thread % 32;
    __nv_bfloat16* const first =
        C + (top + thread / 32 * 16 + lane / 4) * static_cast<long long>(ldc) + left + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i)
        *reinterpret_cast<__nv_bfloat162*>(first + i % 2 * 8ll * ldc + i / 2 * 8) =
            __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
}
