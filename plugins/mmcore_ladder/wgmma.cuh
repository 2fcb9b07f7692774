// wgmma.mma_async: `multiply(sum, a, b, add)` adds A·B to a warpgroup's 64×N sums, or sets them where `add` is 0; a
// and b are descriptors. A source defines WGMMA_FORM before, what stands behind N in the instruction's name:
// "k16.f32.f16.f16". For elements of 16 bits it defines WGMMA_MAJORS too: the last operands say whether A and B lie
// by columns along k. With WGMMA_INTEGERS the sums are integers.

#pragma once

// The N / 2 sums of a thread, as operands of the instruction and by their numbers.
#ifdef WGMMA_INTEGERS
#define SUM int
#define SUMS_4(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define SIGNS ""
#else
#define SUM float
#define SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIGNS ", 1, 1"
#endif
#define SUMS_8(i) SUMS_4(i), SUMS_4(i + 4)
#define SUMS_16(i) SUMS_8(i), SUMS_8(i + 8)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define NUMBERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NUMBERS_16 NUMBERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NUMBERS_32 \
    NUMBERS_16 ", " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NUMBERS_64 \
    NUMBERS_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NUMBERS_96 \
    NUMBERS_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NUMBERS_128 \
    NUMBERS_96 ", " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#ifdef WGMMA_MAJORS
#define MAJORS(A, B) ", %" #A ", %" #B
#define MAJOR_OPERANDS , "n"(A_COLUMNS), "n"(B_COLUMNS)
#else
#define MAJORS(A, B) ""
#define MAJOR_OPERANDS
#endif

// The operands behind the sums have the numbers I to M.
#define WGMMA(COLUMNS, NUMBERS, I, J, K, L, M, ...) \
    template <bool A_COLUMNS, bool B_COLUMNS> \
    inline __device__ void multiply(SUM (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b, int add) \
    { \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #K ", 0;" \
                     " wgmma.mma_async.sync.aligned.m64n" #COLUMNS WGMMA_FORM " {" NUMBERS "}," \
                     " %" #I ", %" #J ", p" SIGNS MAJORS(L, M) "; }" \
                     : __VA_ARGS__ : "l"(a), "l"(b), "r"(add) MAJOR_OPERANDS); \
    }

WGMMA(16, NUMBERS_8, 8, 9, 10, 11, 12, SUMS_8(0))
WGMMA(32, NUMBERS_16, 16, 17, 18, 19, 20, SUMS_16(0))
WGMMA(64, NUMBERS_32, 32, 33, 34, 35, 36, SUMS_32(0))
WGMMA(128, NUMBERS_64, 64, 65, 66, 67, 68, SUMS_32(0), SUMS_32(32))
WGMMA(192, NUMBERS_96, 96, 97, 98, 99, 100, SUMS_32(0), SUMS_32(32), SUMS_32(64))
WGMMA(256, NUMBERS_128, 128, 129, 130, 131, 132, SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96))
