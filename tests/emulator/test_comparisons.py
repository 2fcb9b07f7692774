"""Comparisons and selections: of NaN, of subnormal numbers, of pairs, and what they make of truth."""

from __future__ import annotations

import pytest

from tests.emulation import computed
from tests.emulator.numbers import assert_computes, cases


@pytest.mark.parametrize(
    ("opcode", "case"),
    cases("""
        setp.<eq|ne|lt|le|gt|ge|num>.f32 | nan 1 = 0
        setp.<equ|neu|ltu|leu|gtu|geu|nan>.f32 | nan 1 = 1
        setp.lt.ftz.f32 | 0.0 0x1 = 0 | 0x1 0x00800000 = 1
        setp.lt.f32 | 0.0 0x1 = 1
        setp.eq.ftz.f32 | 0x80000001 0x1 = 1
        setp.ne.ftz.f32 | 0x1 0x2 = 0
        setp.geu.ftz.f32 | 0x1 0x2 = 1
        set.lt.u32.f32 | -1 0 = -1
        set.lt.f32.s32 | -1 0 = 1.0
        set.lo.f32.u32 | -1 0 = 0x0
        set.eq.s32.b64 | 2**63 2**63 = -1
        set.ne.f16.f16 | 1 -1 = 1
        set.ne.bf16.bf16 | 1 -1 = 1
        set.num.u16.bf16 | 0x7FC0 0 = 0
        set.gt.ftz.s32.f32 | 0x1 0 = 0
        set.gt.s32.f32 | 0x1 0 = -1
        set.gt.ftz.u16.f16 | 0x1 0 = 0
        slct.u64.f32 | 7 8 0.0 = 7 | 7 8 -0.0 = 7 | 7 8 -1 = 8 | 7 8 nan = 8
        slct.b32.f32 | 7 8 0x80000001 = 8
        slct.ftz.b32.f32 | 7 8 0x80000001 = 7
        slct.f32.s32 | 0x7 0x8 0 = 0x7 | 0x7 0x8 -1 = 0x8
        set.le.f16x2.f16x2 | 0x38003C00 0x3C003C00 = 0x3C003C00 | 0x42007E00 0x3C003C00 = 0x0
        set.le.f16x2.f16x2 | 0x8000 0x3C003C00 = 0x3C003C00 | 0x7E004000 0x3C003C00 = 0x0
        set.gt.and.u32.f16x2 | 0x38003C00 0x3C003C00 1 = 0x0 | 0x42007E00 0x3C003C00 1 = 0xFFFF0000
        set.gt.and.u32.f16x2 | 0x8000 0x3C003C00 1 = 0x0 | 0x7E004000 0x3C003C00 1 = 0xFFFF
    """),
)
def test_special_values(opcode: str, case: str) -> None:
    assert_computes(opcode, case)


def test_a_comparison_of_pairs_sets_a_predicate_for_each_half() -> None:
    """The pairs are (1, 0.5), (NaN, 3), (-0, 0) and (2, NaN), the lower half first."""
    pairs = [0x38003C00, 0x42007E00, 0x00008000, 0x7E004000]
    first, second = computed("setp.leu.f16x2", pairs, [0x3C003C00] * 4, results=2)
    assert first.tolist() == [True, True, True, False]
    assert second.tolist() == [True, False, True, True]
