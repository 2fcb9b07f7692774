"""The order of B that a source's wgmma instructions read."""

from __future__ import annotations

import pytest

from mmcore_sources.cuda_file.inference.wgmma_order import is_b_k_major

FIXED = (
    'asm("{wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %2, " "p, 1, 1, 0, 0;\\n}" : "+f"(d[0]));\n'
)
TEMPLATE = """
template <int Scale, int TransA, int TransB> __device__ void multiply(float *d, const half *a, const half *b) {
    asm volatile("{\\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %2, %3, 1, 1, %4, %5;\\n}\\n"
                 : "+f"(d[0]) : "l"(x), "l"(y), "n"(int32_t(Scale)), "n"(int32_t(TransA)), "n"(int32_t(TransB)));
}
"""
OUTER = "template <int N, int TransB> __device__ void any(float *d) { if (N == 8) multiply<1, 0, TransB>(d, a, b); }\n"
CUTE = "SM90_64x64x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{}"


@pytest.mark.parametrize(
    ("text", "is_k_major"),
    [
        ("", False),
        (FIXED, True),
        (FIXED.replace("0, 0;", "0, 1;"), False),
        (FIXED + FIXED.replace("0, 0;", "0, 1;"), False),
        (FIXED.replace("bf16", "e4m3").replace("1, 1, 0, 0;", "1, 1;"), True),
        (TEMPLATE, False),
        (TEMPLATE + "multiply<1, 0, 0>(d, a, b);", True),
        (TEMPLATE + "multiply<1, 0, 0>(d, a, b); multiply<1, 0, 1>(d, a, b);", False),
        (TEMPLATE.replace("int32_t(TransB)", "TransB") + "multiply<1, 1, 0>(d, a, b);", True),
        (TEMPLATE.replace("%4, %5;", "%5, %4;") + "multiply<1, 1, 0>(d, a, b);", False),
        (TEMPLATE + OUTER + "any<8, 0>(d);", True),
        (TEMPLATE + OUTER + "any<8, 1>(d);", False),
        (CUTE, True),
        (CUTE.replace("K>", "MN>"), False),
    ],
)
def test_tiles_of_b_are_k_major_where_all_instructions_say_so(text: str, is_k_major: bool) -> None:
    assert is_b_k_major(text) == is_k_major
