// What bfloat16 and float16 differ in: how two sums become neighbours in C, and the word in the product's instruction.
// ELEMENT is the type of A's, B's and C's elements; sums are float32 in both.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Two sums rounded to ELEMENT in one word, the left one in its lower half: so they follow each other in memory.
template <typename T> __device__ unsigned pack(float left, float right);

template <> __device__ inline unsigned pack<__nv_bfloat16>(float left, float right)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(left, right);
    return reinterpret_cast<const unsigned&>(both);
}

template <> __device__ inline unsigned pack<half>(float left, float right)
{
    const half2 both = __floats2half2_rn(left, right);
    return reinterpret_cast<const unsigned&>(both);
}

// sum += a·b on a tensor core, by a whole warp: a is 16×16, b 16×8, sum 16×8. Of the sum, a lane holds elements
// 2·(lane % 4) and the next one of row lane / 4 (sum[0], sum[1]) and of row lane / 4 + 8 (sum[2], sum[3]).
template <typename T>
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b_upper, unsigned b_lower);

#define MULTIPLY(TYPE, WORD)                                                                                          \
    template <>                                                                                                       \
    __device__ inline void multiply<TYPE>(float (&sum)[4], const unsigned (&a)[4], unsigned b_upper, unsigned b_lower) \
    {                                                                                                                 \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." WORD "." WORD ".f32"                                    \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                \
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                                         \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));                       \
    }

MULTIPLY(__nv_bfloat16, "bf16")
MULTIPLY(half, "f16")
#undef MULTIPLY
